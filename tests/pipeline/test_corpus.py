"""One incident in the words of several releases, in each wrapping, damaged in each way: read, or said why not.

Made of what a real broker wrote, by `incidents/old_words.py` and `wrappings.py`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from kohort.pipeline.history.group_analysis import analyse
from kohort.pipeline.rules.diagnose import diagnose
from kohort.pipeline.silver.parquet_files import Writer, publish
from kohort.pipeline.silver.read_sources import ingest
from kohort.pipeline.sources.found import TEXT_LOG, find_sources
from tests.pipeline.incidents.old_words import RELEASES
from tests.pipeline.incidents.recorded import unpacked
from tests.pipeline.local_groups import load_groups
from tests.pipeline.wrappings import WRAPPINGS, Line
from tests.support.effort import in_turn

GROUP = "suspended"
_PLAIN = re.compile(r"^\[(?P<time>[\d-]+ [\d:]+,\d+)\] (?P<rest>INFO .*)$")
_SAID = re.compile(r"^INFO (?P<where>\[GroupCoordinator .*?\]:?) (?P<said>.*) \(\S+\)$")

Damage = Callable[[str], bytes]


def whole(text: str) -> bytes:
    return text.encode()


def doubled(text: str) -> bytes:
    """Return the lines as collected twice."""
    return (text + text).encode()


def truncated(text: str) -> bytes:
    """Cut inside the last line."""
    return text.rstrip()[:-40].encode()


def after_foreign_lines(text: str) -> bytes:
    """Return the lines after those of another log."""
    return ("2026-11-22 14:51:44 nginx: GET /index.html 200\n" * 3_000 + text).encode()


def of_windows(text: str) -> bytes:
    """Encode lines like PowerShell does."""
    return text.replace("\n", "\r\n").encode("utf-16")


DAMAGES: tuple[Damage, ...] = (whole, doubled, truncated, after_foreign_lines, of_windows)
KNOWN: dict[str, list[tuple[str, str, list[str]]]] = {
    "4.3": [("R03", "certain", ["c-4"])],
    "3.6": [("R03", "certain", ["c-4"])],
    "2.8": [("R03", "certain", ["c-4"])],
    "1.1": [("R03", "certain", ["c-4"])],
}
"""What each release's words are enough for."""


@pytest.fixture(scope="module")
def recorded_lines(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    folder = unpacked("classic-kafka-4.3", tmp_path_factory.mktemp("corpus"))
    return [
        line
        for line in (folder / "broker.log").read_text().splitlines()
        if f" {GROUP} " in line or f"[Group {GROUP}]" in line
    ]


def in_words(lines: list[str], release: str) -> list[str]:
    return [said for line in lines if (said := RELEASES[release](line)) is not None]


def wrapped(lines: list[str], wrap: Line | None) -> str:
    """wrap: as in `WRAPPINGS`, which write 4.3's coordinator; its place is put back afterwards."""
    if wrap is None:
        return "\n".join(lines) + "\n"
    result = []
    for line in lines:
        plain = _PLAIN.match(line)
        assert plain is not None
        match = _SAID.match(plain["rest"])
        assert match is not None
        at = datetime.strptime(plain["time"], "%Y-%m-%d %H:%M:%S,%f").replace(tzinfo=UTC)
        text = wrap(match["said"], round(at.timestamp() * 1_000))
        result.append(text.replace("[GroupCoordinator id=1 topic=__consumer_offsets partition=31]", match["where"]))
    return "\n".join(result) + "\n"


def told(path: Path, folder: Path) -> list[tuple[str, str, list[str]]]:
    """Return the serious findings about the group."""
    sources, issues = find_sources([str(path)])
    assert ([source.kind for source in sources], issues) == ([TEXT_LOG], [])
    with Writer(folder, "0") as writer:
        ingest(sources, "", writer)
    publish(folder, "0", [writer.task])
    analysis = analyse(load_groups(folder)[GROUP])
    return [(f.rule, f.confidence, f.clients) for f in diagnose(analysis) if f.severity != "info" and f.rule != "R26"]


@pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: damage.__name__)
@pytest.mark.parametrize("release", RELEASES)
def test_each_release_in_each_wrapping(recorded_lines: list[str], release: str, damage: Damage, tmp_path: Path) -> None:
    lines = in_words(recorded_lines, release)
    wrappings: list[tuple[str, Line | None]] = [("plain", None), *WRAPPINGS.items()]
    played = list(RELEASES).index(release) + DAMAGES.index(damage)
    for number, (name, wrap) in enumerate(in_turn(wrappings, played)):
        path = tmp_path / f"{number}.log"
        path.write_bytes(damage(wrapped(lines, wrap)))
        assert told(path, tmp_path / f"silver-{number}") == KNOWN[release], name


@pytest.mark.parametrize("share", [0.25, 0.5, 0.75])
@pytest.mark.parametrize("release", RELEASES)
def test_partial_sources_add_no_findings(recorded_lines: list[str], release: str, share: float, tmp_path: Path) -> None:
    lines = in_words(recorded_lines, release)
    at = round(len(lines) * share)
    for name, part in (("start", lines[:at]), ("end", lines[at:])):
        path = tmp_path / f"{name}.log"
        path.write_text("\n".join(part) + "\n")
        known = {(rule, tuple(clients)) for rule, _, clients in KNOWN[release]} | {("R03", ())}
        assert {(rule, tuple(clients)) for rule, _, clients in told(path, tmp_path / name)} <= known
