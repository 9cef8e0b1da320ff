"""Requested time range and groups, with the state at its start."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pyarrow as pa
import pytest

from kohort.pipeline.history.group_analysis import analyse
from kohort.pipeline.history.inputs import GroupInput
from kohort.pipeline.rules.diagnose import diagnose
from kohort.pipeline.silver.parquet_files import Writer, publish
from kohort.pipeline.silver.read_sources import ingest
from kohort.pipeline.sources.found import find_sources
from kohort.pipeline.sources.window import Window, length_ms
from tests.pipeline.incidents.recorded import unpacked
from tests.pipeline.local_groups import load_groups


@pytest.mark.parametrize(("text", "ms"), [("90s", 90_000), ("30m", 1_800_000), ("2 h", 7_200_000), ("1d", 86_400_000)])
def test_lengths(text: str, ms: int) -> None:
    assert length_ms(text) == ms


@pytest.mark.parametrize("text", ["", "2x", "yesterday", "25:00", "-3h"])
def test_invalid_window(text: str) -> None:
    with pytest.raises(ValueError, match="invalid duration"):
        length_ms(text)


def read(folder: Path, name: str, window: Window) -> dict[str, GroupInput]:
    sources, _ = find_sources([str(folder)])
    silver = folder / f"silver-{name}"
    with Writer(silver, "0") as writer:
        ingest(sources, "", writer, window)
    publish(silver, "0", [writer.task])
    groups = load_groups(silver)
    for group in groups.values():
        group.since_ms, group.until_ms = window.since_ms, min(group.until_ms, window.until_ms)
    return groups


def test_window_keeps_events_and_members(tmp_path: Path) -> None:
    folder = unpacked("classic-kafka-4.3", tmp_path)
    truth = [json.loads(line) for line in (folder / "truth.jsonl").read_text().splitlines()]
    (stopped,) = [row["ms"] for row in truth if row["group"] == "suspended" and row.get("signal") == "SIGSTOP"]
    whole = read(folder, "all", Window())
    cut = read(folder, "cut", Window(stopped - 3_000, stopped + 30_000, ("susp*", "static-restart")))
    assert cut.keys() == {"suspended", "static-restart"}
    analysis = analyse(cut["suspended"])
    first = analysis.generations[0]
    assert first.stable_ms < stopped - 3_000, "the generation that was in force"
    assert len(first.members) == 5
    assert all(stopped - 3_000 <= r.stable_ms <= stopped + 30_000 for r in analysis.rebalances)
    assert len(analysis.rebalances) < len(analyse(whole["suspended"]).rebalances)
    commits = cut["suspended"].commits.values()
    assert all(stopped - 3_000 <= ms <= stopped + 30_000 for commit in commits for ms in commit.ts_ms.tolist())
    (found,) = [finding for finding in diagnose(analysis) if finding.rule == "R03"]
    assert found.clients == ["c-4"]
    assert analysis.span_ms[0] >= stopped - 3_000


def test_earlier_incident_is_no_finding(tmp_path: Path) -> None:
    folder = unpacked("kafka-4.3", tmp_path)
    whole = read(folder, "all", Window())
    for name in ("crash-loop", "poll-timeout", "migrates", "storm"):
        group = whole[name]
        late = dataclasses.replace(group, since_ms=group.until_ms, events=[], commits={})
        analysis = analyse(late)
        assert analysis.rebalances == []
        assert [finding.rule for finding in diagnose(analysis) if finding.severity != "info"] == [], name


def test_groups_by_pattern() -> None:
    table = pa.table({"group_id": ["orders-1", "orders-2", "payments", None], "n": [1, 2, 3, 4]})
    assert Window(groups=("orders-*",)).rows("group_records", table)["n"].to_pylist() == [1, 2, 4]
    assert Window().rows("group_records", table) is table
