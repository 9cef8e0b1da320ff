"""The end of the demo: what it says of its own logs."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from kohort.demo import analysis
from kohort.demo.acts import EAGER, MOVING, SLOW

FOUND = {"group": EAGER, "rule": "R01", "clients": [SLOW], "text": "the group waited", "advice": "poll sooner"}


MOVED = {"group": MOVING, "rule": "R24", "clients": [], "text": "the move took 3 s", "evidence": {"to": ["consumer"]}}


def test_analysis_finds_stall_and_migration_cost(tmp_path: Path) -> None:
    (tmp_path / "findings.json").write_text(json.dumps([MOVED, {**FOUND, "rule": "R26"}, FOUND]))
    checks, told = analysis.judge(tmp_path)
    assert checks == [
        (True, "the analysis of these logs finds that kafka-python-1 stalled billing"),
        (True, "the analysis of these logs finds what the move of invoicing cost"),
    ]
    assert told == ["billing: the group waited", "poll sooner", "invoicing: the move took 3 s"]


@pytest.mark.parametrize("other", [{"clients": ["aiokafka-1"]}, {"group": "shipping"}, {"rule": "R02"}])
def test_it_finds_something_else(tmp_path: Path, other: dict[str, object]) -> None:
    (tmp_path / "findings.json").write_text(json.dumps([{**FOUND, **other}, MOVED]))
    assert [check.holds for check in analysis.judge(tmp_path)[0]] == [False, True]


@pytest.mark.parametrize(
    "other", [{"group": "shipping"}, {"rule": "R04"}, {"evidence": {"to": ["consumer", "classic"]}}]
)
def test_it_does_not_find_the_move(tmp_path: Path, other: dict[str, object]) -> None:
    (tmp_path / "findings.json").write_text(json.dumps([FOUND, {**MOVED, **other}]))
    assert [check.holds for check in analysis.judge(tmp_path)[0]] == [True, False]


def test_advice_without_analysis(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(analysis, "NEEDED", ("pyarrow", "no_such_module"))
    assert not analysis.is_installed()
    assert analysis.how_to_get_it(tmp_path).endswith(f"pip install 'kohort[analyze]', then kohort analyze {tmp_path}")


async def test_failed_analysis_gives_reason(tmp_path: Path) -> None:
    (tmp_path / "events").mkdir()
    said: list[str] = []
    failed = await analysis.analyse("no address", tmp_path / "events", tmp_path / "out", said.append)
    assert failed.startswith("the analysis failed: ")
    assert failed.removeprefix("the analysis failed: ") == said[-1]


@pytest.mark.clients
@pytest.mark.timeout(1000)
def test_complete_demo(tmp_path: Path) -> None:
    out = tmp_path / "out"
    ended = subprocess.run(
        [sys.executable, "-m", "kohort.cli", "demo", "--plain", "--out", str(out)], capture_output=True, text=True
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert "ok    the analysis of these logs finds that kafka-python-1 stalled billing" in ended.stdout
    assert "ok    the analysis of these logs finds what the move of invoicing cost" in ended.stdout
    assert "the migration to the consumer protocol took" in ended.stdout
    report = out / "report.html"
    look = f"look at it in a browser: python3 -m webbrowser {report.as_uri()}"
    assert ended.stdout.endswith(f"report: {report}\n{look}\n")
    assert sorted(path.suffix for path in (out / "events").iterdir()) == [".jsonl"] * 3
