"""A broker's log tells the same whatever has collected it: one incident, many wrappings, each line by itself and twice."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from kohort.pipeline.sources.chunk import Issue
from kohort.pipeline.sources.found import TEXT_LOG, find_sources
from kohort.pipeline.sources.source_rows import GroupEvent
from kohort.pipeline.sources.text_log import read_text_log

FIRST_MS = 1_772_704_800_100
A, B = (f"c-{number}-0a1b2c3d-1111-4222-8333-44445555666{number}" for number in (1, 2))
COORDINATOR = "[GroupCoordinator id=1 topic=__consumer_offsets partition=31]"
LOGGER = "org.apache.kafka.coordinator.group.GroupMetadataManager"
SAID = (
    f"Preparing to rebalance group pay in state PreparingRebalance with old generation 0 (reason: Adding new member {A} "
    "with group instance id null; client reason: not provided).",
    "Stabilized group pay generation 1 with 1 members.",
    f"Preparing to rebalance group pay in state PreparingRebalance with old generation 1 (reason: Adding new member {B} "
    "with group instance id null; client reason: not provided).",
    f"Group pay removed dynamic members who haven't joined: [{A}]",
    "Stabilized group pay generation 2 with 1 members.",
    f"Assignment received from leader {B} for group pay for generation 2. The group has 1 members, 0 of which are static.",
)
Line = Callable[[str, int], str]
"""What a collector makes of a message of that moment."""


def iso(ms: int) -> str:
    return datetime.fromtimestamp(ms / 1_000, UTC).strftime("%Y-%m-%dT%H:%M:%S.") + f"{ms % 1_000:03}Z"


def plain(said: str, ms: int) -> str:
    return f"[{iso(ms)[:-1].replace('T', ' ').replace('.', ',')}] INFO {COORDINATOR} {said} ({LOGGER})"


def bare(said: str) -> str:
    return f"{COORDINATOR} {said}"


def layout(said: str, ms: int) -> dict[str, object]:
    return {"@timestamp": iso(ms), "level": "INFO", "logger": LOGGER, "message": bare(said)}


def csv_row(*cells: str) -> str:
    out = io.StringIO()
    csv.writer(out, quoting=csv.QUOTE_ALL, lineterminator="").writerow(cells)
    return out.getvalue()


WRAPPINGS: dict[str, Line] = {
    "journald, as JSON": lambda said, ms: json.dumps(
        {"__REALTIME_TIMESTAMP": str(ms * 1_000), "_HOSTNAME": "h", "MESSAGE": plain(said, ms)}
    ),
    "journald of a bare layout": lambda said, ms: json.dumps(
        {"PRIORITY": "6", "MESSAGE": bare(said), "__REALTIME_TIMESTAMP": str(ms * 1_000)}
    ),
    "CloudWatch": lambda said, ms: json.dumps(
        {"logStreamName": "Broker-1", "timestamp": ms, "message": plain(said, ms), "eventId": "0"}
    ),
    "Loki": lambda said, ms: json.dumps({"labels": {"app": "kafka"}, "line": plain(said, ms), "timestamp": iso(ms)}),
    "Elastic": lambda said, ms: json.dumps(
        {"_index": "logs", "_source": {"@timestamp": iso(ms), "message": bare(said), "host": {"name": "kafka-0"}}}
    ),
    "fluentd": lambda said, ms: (
        f"{iso(ms)[:-1]}+00:00\tkube.kafka-0\t" + json.dumps({"log": plain(said, ms) + "\n", "stream": "stdout"})
    ),
    "GELF": lambda said, ms: json.dumps({"version": "1.1", "short_message": bare(said), "timestamp": ms / 1_000}),
    "log4j2, pretty": lambda said, ms: (
        json.dumps(
            {
                "instant": {"epochSecond": ms // 1_000, "nanoOfSecond": ms % 1_000 * 1_000_000},
                "loggerName": LOGGER,
                "message": bare(said),
            },
            indent=2,
        )
        + ","
    ),
    "Vector, JSON in JSON": lambda said, ms: json.dumps(
        {"timestamp": iso(ms), "message": json.dumps(layout(said, ms))}
    ),
    "docker of a JSON layout": lambda said, ms: json.dumps(
        {"log": json.dumps(layout(said, ms)) + "\n", "stream": "stdout", "time": iso(ms)}
    ),
    "Splunk": lambda said, ms: json.dumps(
        {"preview": False, "result": {"_raw": plain(said, ms), "_time": iso(ms), "host": "kafka-0"}}
    ),
    "Datadog": lambda said, ms: json.dumps(
        {"id": "x", "content": {"timestamp": iso(ms), "tags": ["kafka"], "message": bare(said)}}
    ),
    "Google Cloud": lambda said, ms: json.dumps(
        {"insertId": "x", "jsonPayload": {"message": bare(said)}, "timestamp": iso(ms), "severity": "INFO"}
    ),
    "a cell of CSV": lambda said, ms: csv_row(iso(ms), "kafka-0", plain(said, ms)),
    "colours": lambda said, ms: f"\x1b[32m{plain(said, ms)}\x1b[0m",
    "kubectl with stamps": lambda said, ms: f"{iso(ms)} {plain(said, ms)}",
    "docker compose": lambda said, ms: f"kafka-1  | {plain(said, ms)}",
}


def told(path: Path, text: str) -> tuple[list[GroupEvent], list[Issue]]:
    path.write_text(text)
    (source,), _ = find_sources([str(path)])
    assert source.kind == TEXT_LOG
    found = list(read_text_log(path))
    return [each for each in found if isinstance(each, GroupEvent)], [each for each in found if isinstance(each, Issue)]


def facts(events: list[GroupEvent]) -> list[tuple[object, ...]]:
    return [
        (each.ts, each.kind, each.group_id, each.generation, each.member_id, each.members, tuple(each.evicted or ()))
        for each in events
    ]


def lines(wrap: Line) -> list[str]:
    return [wrap(said, FIRST_MS + 1_000 * number) for number, said in enumerate(SAID)]


@pytest.mark.parametrize("name", WRAPPINGS)
def test_each_wrapping_tells_what_the_plain_log_tells(name: str, tmp_path: Path) -> None:
    expected, _ = told(tmp_path / "plain.log", "\n".join(lines(plain)))
    assert len(expected) == len(SAID)
    events, issues = told(tmp_path / "server.log", "\n".join(lines(WRAPPINGS[name])))
    assert facts(events) == facts(expected)
    assert issues == []


@pytest.mark.parametrize("name", [name for name in WRAPPINGS if name != "log4j2, pretty"])
def test_a_collector_may_collect_what_a_collector_wrote(name: str, tmp_path: Path) -> None:
    expected, _ = told(tmp_path / "plain.log", "\n".join(lines(plain)))
    twice = [json.dumps({"time": iso(FIRST_MS), "log": line}) for line in lines(WRAPPINGS[name])]
    events, _ = told(tmp_path / "server.log", "\n".join(twice))
    assert facts(events) == facts(expected)


def test_a_whole_document_is_read_event_by_event(tmp_path: Path) -> None:
    """As `aws logs filter-log-events` prints it."""
    document = {"events": [json.loads(line) for line in lines(WRAPPINGS["CloudWatch"])], "searchedLogStreams": []}
    events, issues = told(tmp_path / "answer.json", json.dumps(document, indent=4))
    assert (len(events), issues) == (len(SAID), [])


def test_what_cannot_be_read_is_counted_and_not_passed_over(tmp_path: Path) -> None:
    """A line of the coordinator without a time says nothing, and that is said."""
    events, (issue,) = told(tmp_path / "server.log", "\n".join([bare(SAID[0]), *lines(plain)]))
    assert len(events) == len(SAID)
    assert "1 lines with '[GroupCoordinator and no time, or in another form'" in issue.detail


def test_an_object_that_never_ends_costs_itself(tmp_path: Path) -> None:
    text = "\n".join(["{", '"message": "cut', *lines(plain)])
    events, _ = told(tmp_path / "server.log", text)
    assert facts(events) == facts(told(tmp_path / "plain.log", "\n".join(lines(plain)))[0])


def test_the_words_of_1_x(tmp_path: Path) -> None:
    """They name no reason, no members and no leader."""
    words = (
        "Preparing to rebalance group orders with old generation 1 (__consumer_offsets-31)",
        "Stabilized group orders generation 2 (__consumer_offsets-31)",
        "Assignment received from leader for group orders for generation 2",
        "Group orders with generation 3 is now empty (__consumer_offsets-31)",
    )
    stamp, logger = "[2024-03-05 10:00:00,500] INFO [GroupCoordinator 1]:", "(kafka.coordinator.group.GroupCoordinator)"
    events, issues = told(tmp_path / "server.log", "\n".join(f"{stamp} {each} {logger}" for each in words))
    assert [(each.kind, each.group_id, each.generation) for each in events] == [
        ("rebalance_started", "orders", 1),
        ("join_completed", "orders", 2),
        ("assignment_received", "orders", 2),
        ("rebalance_completed", "orders", 3),
    ]
    assert (events[0].cause, events[1].members, issues) == ("unknown", None, [])
