"""A test that lacks something says so in one place, and is red in CI."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.support.lacking import LACKS, lacks

ROOT = Path(__file__).parent.parent
THE_PLACE = ROOT / "tests" / "support" / "lacking.py"
SKIPS = re.compile(r"pytest\.(skip|importorskip)\(|mark\.(skip|skipif|xfail)\b")


def test_nothing_is_skipped_anywhere_else() -> None:
    files = [file for folder in ("tests", "examples") for file in (ROOT / folder).rglob("*.py")]
    assert THE_PLACE in files
    skipping = [file for file in files if SKIPS.search(file.read_text())]
    assert skipping == [THE_PLACE]


@pytest.mark.parametrize("what", LACKS)
def test_other_gaps_fail_ci(what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CI", raising=False)
    with pytest.raises(pytest.skip.Exception, match=re.escape(LACKS[what].text)):
        lacks(what, "here")
    monkeypatch.setenv("CI", "true")
    outcome = pytest.skip.Exception if LACKS[what].in_ci else pytest.fail.Exception
    with pytest.raises(outcome, match=f"{re.escape(LACKS[what].text)}: here"):
        lacks(what, "here")


def test_accepted_gaps_in_ci() -> None:
    assert {what for what, lack in LACKS.items() if lack.in_ci} == {
        "native addon",
        "ipv6",
        "feature",
        "plain",
        "prometheus",
        "proxy",
    }
