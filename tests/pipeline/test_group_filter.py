"""`--group` filters every source, and changes nothing about which events and sources count as missing."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

import pytest
from click.testing import CliRunner

from kohort.cli.analyze import analyze
from kohort.pipeline.analysis.analysis_run import Outcome, analyse
from kohort.pipeline.analysis.local_engine import LocalEngine
from kohort.pipeline.silver.ranges import event_ranges
from kohort.pipeline.silver.read_sources import expand
from kohort.pipeline.silver.silver_rows import EventRange
from kohort.pipeline.sources.event_lines import event_of_line
from kohort.pipeline.sources.found import WIRE, Source, find_sources
from kohort.pipeline.sources.window import Window
from kohort.protocol.messages.alter_share_group_offsets import (
    AlterShareGroupOffsetsRequestPartition,
    AlterShareGroupOffsetsRequestTopic,
)
from kohort.testing import Cluster
from tests.pipeline.event_lines import event_line
from tests.pipeline.incidents.recorded import RECORDED, unpacked
from tests.support.wires import Blocking

COMPARES_GROUPS = {"R35", "R36"}
"""Rules about several groups together: what they see of other groups is filtered."""


def analysed(sources: Iterable[Path], out: Path, *groups: str) -> Outcome:
    inputs, issues = find_sources(map(str, sources))
    return analyse(LocalEngine(), inputs, issues, out, lambda _: None, window=Window(groups=groups))


def write_events(path: Path, lines: Iterable[str]) -> Path:
    path.write_text("".join(f"{line}\n" for line in lines))
    return path


def two_groups(path: Path, *absent: int) -> Path:
    """Write an event log in which two groups take turns, without the events of these numbers."""
    lines = (event_line(seq, "north" if seq % 2 else "south") for seq in range(1, 21) if seq not in absent)
    return write_events(path, lines)


def test_events_of_other_groups_count(tmp_path: Path) -> None:
    log = two_groups(tmp_path / "events.jsonl")
    options = ["--without", "offsets-topic", "--without", "log-ends", "--fail-on", "warning"]
    command = [str(log), "--group", "north", *options, "--out", str(tmp_path / "out")]
    result = CliRunner().invoke(analyze, command)
    assert result.exit_code == 0, result.output
    assert "missing" not in result.output


def test_absent_events_are_counted_once(tmp_path: Path) -> None:
    log = two_groups(tmp_path / "events.jsonl", 4, 7)
    for groups in ((), ("north",), ("south",), ("nor*", "south")):
        issues = analysed([log], tmp_path / "out", *groups).issues
        assert [row["detail"] for row in issues if row["rule"] == "missing_events"] == ["2 events are missing"], groups


def test_repeated_events_are_counted_once(tmp_path: Path) -> None:
    logs = [two_groups(tmp_path / "one.jsonl", 19, 20), two_groups(tmp_path / "two.jsonl", 1, 2)]
    for groups in ((), ("north",)):
        issues = analysed(logs, tmp_path / "out", *groups).issues
        assert [row["detail"] for row in issues if row["rule"] == "duplicate_events"] == [
            "16 events came more than once and were counted once"
        ], groups
        assert not [row for row in issues if row["rule"] == "missing_events"]


def test_events_outside_the_window_are_ignored(tmp_path: Path) -> None:
    lines = [json.loads(event_line(seq, "north")) for seq in range(1, 21) if seq not in (4, 15)]
    log = write_events(tmp_path / "events.jsonl", map(json.dumps, lines))
    inputs, issues = find_sources([str(log)])
    window = Window(since_ms=lines[9]["ts"], groups=("north",))
    outcome = analyse(LocalEngine(), inputs, issues, tmp_path / "out", lambda _: None, window=window)
    assert [row["detail"] for row in outcome.issues if row["rule"] == "missing_events"] == ["1 events are missing"]


def test_ranges_of_two_processes_are_apart() -> None:
    lines = (event_line(seq, "north", node_id=node) for seq in (1, 2, 4) for node in (1, 2))
    assert sorted(event_ranges(map(event_of_line, lines)), key=lambda item: (item.node_id, item.first_seq)) == [
        EventRange(node_id=node, boot_id="5eed0001", first_seq=first, last_seq=last)
        for node in (1, 2)
        for first, last in ((1, 2), (4, 4))
    ]


def test_file_of_other_groups_was_given(tmp_path: Path) -> None:
    folder = unpacked("streams-kafka-4.3", tmp_path / "recording")
    events = write_events(tmp_path / "events.jsonl", (event_line(seq, "north") for seq in range(1, 4)))
    for sources, group in (([folder / "segments", events], "north"), ([folder], "none")):
        whole = analysed(sources, tmp_path / "whole")
        filtered = analysed(sources, tmp_path / "out", group)
        assert not {item.source for item in whole.missing()} & {"offsets-topic", "broker-log"}
        assert not {item.source for item in filtered.missing()} & {"offsets-topic", "broker-log"}, group


def test_garbage_is_reported_with_a_filter(tmp_path: Path) -> None:
    garbage = tmp_path / "server.log"
    garbage.write_text("[2026-03-14 04:00:00,000] INFO [GroupCoordinator 1]: Something new. (kafka.server)\n")
    result = CliRunner().invoke(analyze, [str(garbage), "--group", "north", "--out", str(tmp_path / "out")])
    assert result.exit_code == 1, result.output
    assert "nothing in it was understood" in result.output


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if name == "streams-kafka-4.3" else pytest.mark.long) for name in RECORDED]
)
def test_filter_changes_nothing_else(name: str, tmp_path: Path) -> None:
    folder = unpacked(name, tmp_path / "recording")
    whole = analysed([folder], tmp_path / "whole")
    groups = sorted({row["group_id"] or "" for row in whole.health})
    for group in (groups[0], groups[len(groups) // 2], groups[-1]):
        filtered = analysed([folder], tmp_path / "out", group)
        assert {row["group_id"] for row in filtered.health} == {group}
        assert {row["group_id"] for row in filtered.shared} <= {group}
        assert _of(filtered, group) == _of(whole, group)


def _of(outcome: Outcome, group: str) -> object:
    findings = [row for row in outcome.findings if row["group"] == group and row["rule"] not in COMPARES_GROUPS]
    about_all = sorted((row["rule"], row["keys"] or "", row["detail"]) for row in outcome.issues if not row["group_id"])
    own = [row for row in outcome.issues if row["group_id"] == group]
    return findings, about_all, own, [item.source for item in outcome.missing() if group in item.groups]


def test_other_share_groups_are_omitted(tmp_path: Path) -> None:
    with Cluster(nodes=1) as kafka:
        kafka.topics.create("orders", 1)
        wire = Blocking(int(kafka.bootstrap.rpartition(":")[2]))
        part = AlterShareGroupOffsetsRequestPartition(partition_index=0, start_offset=0)
        topics = [AlterShareGroupOffsetsRequestTopic(topic_name="orders", partitions=(part,))]
        try:
            for group in ("mine", "other-1", "other-2"):
                answer = wire.asks("alter_share_group_offsets", 0, group_id=group, topics=topics)
                assert not answer.error_code
        finally:
            wire.close()
        other_groups = {"other-1", "other-2"}
        for groups, expected in (((), {"mine", *other_groups}), (("mine",), {"mine"}), (("other-*",), other_groups)):
            sources, issues = expand([Source(WIRE, kafka.bootstrap)])
            window = Window(groups=groups)
            outcome = analyse(LocalEngine(), sources, issues, tmp_path / "out", lambda _: None, window=window)
            assert {row["group_id"] for row in outcome.health} == expected
            assert {row["group_id"] for row in outcome.shared} == expected
