"""Group events, one row per action of a coordinator, from kohort's event log or a broker's text log."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from kohort.pipeline.sources.checked import UNREADABLE, moment_ms, text, whole
from kohort.pipeline.sources.chunk import Issue
from kohort.pipeline.sources.lines import read_lines
from kohort.pipeline.sources.source_rows import GroupEvent
from kohort.pipeline.sources.stored import SourceFile

_LONGS = ("seq", "mono_us", "log_offset", "duration_us")
_INTS = (
    "v", "node_id", "co_partition", "co_epoch", "generation", "member_epoch", "members", "session_timeout_ms",
    "rebalance_timeout_ms", "partitions",
)  # fmt: skip
_LISTS = ("waited_for", "joined", "left", "evicted")
_TEXTS = (
    "event_id", "boot_id", "group_id", "group_type", "protocol_type", "protocol", "kind", "rebalance_id",
    "state_from", "state_to", "member_id", "instance_id", "client_id", "client_host", "client_software", "cause",
    "client_reason", "error",
)  # fmt: skip
COLUMNS = frozenset((*_TEXTS, "ts", *_LONGS, *_INTS, *_LISTS, "detail"))


def read_event_log(path: SourceFile) -> Iterator[GroupEvent | Issue]:
    """Yield the events of a JSON Lines file, and an issue for each unreadable line."""
    if path.name.endswith(".open"):
        yield Issue("open_event_file", path.name, "the file was still being written; its last line may be cut")
    faults: list[Issue] = []
    for number, line in enumerate(read_lines(path, faults), 1):
        if not line.strip():
            continue
        try:
            yield event_of_line(line)
        except ValueError as error:
            yield Issue("unreadable_line", f"{path.name}:{number}", str(error))
    yield from faults


def event_of_line(line: str) -> GroupEvent:
    """Return the event of a line of an event log.

    Raises:
        ValueError: The line is invalid. The message has a bounded length.
    """
    try:
        return event_of(json.loads(line))
    except UNREADABLE as error:
        raise ValueError(f"not an event: {error}"[:300]) from None


def event_of(row: Any) -> GroupEvent:
    """Return the event of a JSON object; unknown columns are ignored.

    Raises:
        ValueError, TypeError: The object is invalid.
    """
    columns: dict[str, Any] = {}
    for name, value in row.items():
        if value is None or name not in COLUMNS:
            continue
        if name == "ts":
            columns[name] = moment_ms(value)
        elif name in _LONGS or name in _INTS:
            columns[name] = whole(value, 64 if name in _LONGS else 32)
        elif name in _LISTS:
            columns[name] = [text(member) for member in value]
        elif name == "detail":
            columns[name] = {text(key): text(detail_value) for key, detail_value in value.items()}
        else:
            columns[name] = text(value)
    if "kind" not in columns or "ts" not in columns:
        raise ValueError("no kind or no ts")
    return GroupEvent(**columns, origin="event_log")
