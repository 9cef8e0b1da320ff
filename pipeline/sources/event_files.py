"""Group events: one row per thing a coordinator did, from kohort's event log or from a broker's text log."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from kohort.pipeline.sources.chunk import Issue
from kohort.pipeline.sources.lines import read_lines

Event = dict[str, Any]

_NUMBERS = (
    "v", "seq", "ts", "mono_us", "node_id", "co_partition", "co_epoch", "log_offset", "generation", "member_epoch",
    "duration_us", "members", "session_timeout_ms", "rebalance_timeout_ms", "partitions",
)  # fmt: skip
_LISTS = ("waited_for", "joined", "left", "evicted")
_TEXTS = (
    "event_id", "boot_id", "group_id", "group_type", "protocol_type", "protocol", "kind", "rebalance_id",
    "state_from", "state_to", "member_id", "instance_id", "client_id", "client_host", "client_software", "cause",
    "client_reason", "error",
)  # fmt: skip
COLUMNS = (*_TEXTS, *_NUMBERS, *_LISTS, "detail")


def read_event_log(path: Path) -> Iterator[Event | Issue]:
    """Rows of a JSON Lines file as they stand; lines that can't be read come out as issues."""
    if path.name.endswith(".open"):
        yield Issue("open_event_file", path.name, "the file was still being written; its last line may be cut")
    faults: list[Issue] = []
    for number, line in enumerate(read_lines(path, faults), 1):
        if not line.strip():
            continue
        try:
            yield event_of(json.loads(line))
        except (ValueError, TypeError, AttributeError) as error:
            yield Issue("unreadable_line", f"{path.name}:{number}", f"not an event: {error}"[:300])
    yield from faults


def event_of(row: Any) -> Event:
    """A row with every column, wrong types refused."""
    event: Event = dict.fromkeys(COLUMNS)
    for name, value in row.items():
        if value is None or name not in event:
            continue
        if name in _NUMBERS:
            event[name] = int(value)
        elif name in _LISTS:
            event[name] = [str(member) for member in value]
        elif name == "detail":
            event[name] = {str(key): str(text) for key, text in value.items()}
        else:
            event[name] = str(value)
    if event["kind"] is None or event["ts"] is None:
        raise ValueError("no kind or no ts")
    event["origin"] = "event_log"
    return event


def number_check(events: list[Event]) -> tuple[list[Event], list[Issue]]:
    """Drops duplicates by event_id and names the gaps in each process's numbering."""
    seen: dict[str, Event] = {}
    doubled = 0
    for event in events:
        key = event["event_id"] or json.dumps(event, sort_keys=True)
        doubled += key in seen
        seen.setdefault(key, event)
    issues = []
    if doubled:
        issues.append(Issue("duplicate_events", "", f"{doubled} events came more than once and were counted once"))
    by_process: dict[tuple[Any, Any], list[int]] = {}
    for event in seen.values():
        if event["seq"] is not None:
            by_process.setdefault((event["node_id"], event["boot_id"]), []).append(event["seq"])
    for (node, boot), numbers in by_process.items():
        missing = max(numbers) - min(numbers) + 1 - len(set(numbers))
        if missing:
            issues.append(Issue("missing_events", f"node {node}, boot {boot}", f"{missing} events are missing"))
    return list(seen.values()), issues
