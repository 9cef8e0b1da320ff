"""A broker's log is read alike from all collectors: one incident in many wrappings, lines single and doubled."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kohort.pipeline.sources.chunk import Issue
from kohort.pipeline.sources.found import TEXT_LOG, find_sources
from kohort.pipeline.sources.source_rows import GroupEvent
from kohort.pipeline.sources.text_log import read_text_log
from tests.pipeline.wrappings import FIRST_MS, SAID, WRAPPINGS, Line, bare, iso, plain


def told(path: Path, text: str) -> tuple[list[GroupEvent], list[Issue]]:
    path.write_text(text)
    (source,), _ = find_sources([str(path)])
    assert source.kind == TEXT_LOG
    found = list(read_text_log(path))
    return [each for each in found if isinstance(each, GroupEvent)], [each for each in found if isinstance(each, Issue)]


def facts(events: list[GroupEvent]) -> list[tuple[object, ...]]:
    return [
        (
            event.ts,
            event.kind,
            event.group_id,
            event.generation,
            event.member_id,
            event.members,
            tuple(event.evicted or ()),
        )
        for event in events
    ]


def lines(wrap: Line) -> list[str]:
    return [wrap(said, FIRST_MS + 1_000 * number) for number, said in enumerate(SAID)]


@pytest.mark.parametrize("name", WRAPPINGS)
def test_wrapped_log_equals_plain_log(name: str, tmp_path: Path) -> None:
    expected, _ = told(tmp_path / "plain.log", "\n".join(lines(plain)))
    assert len(expected) == len(SAID)
    events, issues = told(tmp_path / "server.log", "\n".join(lines(WRAPPINGS[name])))
    assert facts(events) == facts(expected)
    assert issues == []


@pytest.mark.parametrize("name", [name for name in WRAPPINGS if name != "log4j2, pretty"])
def test_nested_wrappers_are_unwrapped(name: str, tmp_path: Path) -> None:
    expected, _ = told(tmp_path / "plain.log", "\n".join(lines(plain)))
    twice = [json.dumps({"time": iso(FIRST_MS), "log": line}) for line in lines(WRAPPINGS[name])]
    events, _ = told(tmp_path / "server.log", "\n".join(twice))
    assert facts(events) == facts(expected)


def test_whole_document_is_streamed(tmp_path: Path) -> None:
    # as printed by `aws logs filter-log-events`
    document = {"events": [json.loads(line) for line in lines(WRAPPINGS["CloudWatch"])], "searchedLogStreams": []}
    events, issues = told(tmp_path / "answer.json", json.dumps(document, indent=4))
    assert (len(events), issues) == (len(SAID), [])


def test_unreadable_lines_are_counted(tmp_path: Path) -> None:
    events, (issue,) = told(tmp_path / "server.log", "\n".join([bare(SAID[0]), *lines(plain)]))
    assert len(events) == len(SAID)
    assert "1 lines with '[GroupCoordinator and no time, or in another form'" in issue.detail


def test_endless_object_is_skipped(tmp_path: Path) -> None:
    text = "\n".join(["{", '"message": "cut', *lines(plain)])
    events, _ = told(tmp_path / "server.log", text)
    assert facts(events) == facts(told(tmp_path / "plain.log", "\n".join(lines(plain)))[0])


def test_kafka_1_x_log_lines(tmp_path: Path) -> None:
    # they contain no reason, members or leader
    words = (
        "Preparing to rebalance group orders with old generation 1 (__consumer_offsets-31)",
        "Stabilized group orders generation 2 (__consumer_offsets-31)",
        "Assignment received from leader for group orders for generation 2",
        "Group orders with generation 3 is now empty (__consumer_offsets-31)",
    )
    stamp, logger = "[2024-03-05 10:00:00,500] INFO [GroupCoordinator 1]:", "(kafka.coordinator.group.GroupCoordinator)"
    events, issues = told(tmp_path / "server.log", "\n".join(f"{stamp} {word} {logger}" for word in words))
    assert [(event.kind, event.group_id, event.generation) for event in events] == [
        ("rebalance_started", "orders", 1),
        ("join_completed", "orders", 2),
        ("assignment_received", "orders", 2),
        ("rebalance_completed", "orders", 3),
    ]
    assert (events[0].cause, events[1].members, issues) == ("unknown", None, [])
