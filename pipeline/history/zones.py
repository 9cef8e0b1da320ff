"""Offset of a broker's text log against the offsets topic: the log names no time zone, and its clock may be wrong.

Both sources date the same generations within milliseconds. The line about a generation and its record are a pair, and
their difference is the log's offset. Zones differ by multiples of a quarter of an hour; any other offset is a clock.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import replace

from kohort.pipeline.history.inputs import GroupInput
from kohort.pipeline.sources.source_rows import GroupEvent
from kohort.protocol.records.layouts import GROUP_EPOCH, GROUP_METADATA

QUARTER_MS = 900_000
NEAR_MS = 1_000  # maximum delay of a log on a busy machine; smaller offsets are ignored
_RECORD_OF = {"join_completed": GROUP_METADATA, "epoch_bumped": GROUP_EPOCH}


def settle_zone(group: GroupInput) -> None:
    """Move the events of text logs to the offsets topic's time, and store the offset of each log."""
    group.ahead_ms = _offsets(group)
    if not group.ahead_ms:
        return
    group.events = [
        replace(event, ts=event.ts - group.ahead_ms.get(log_of(event), 0)) if event.origin == "text_log" else event
        for event in group.events
    ]
    offsets, moves = set(group.ahead_ms.values()), group.coordinator_moves
    group.coordinator_moves = [
        (ts_ms, epoch)
        for ts_ms, epoch in moves
        if not any(epoch == of and abs(ts_ms - by - other) <= 10 * NEAR_MS for other, of in moves for by in offsets)
    ]


def log_of(event: GroupEvent) -> str:
    """Return the clock that dated a line: the broker's, if the line names it, else the file's."""
    if event.node_id is not None:
        return f"broker {event.node_id}"
    return (event.event_id or "").rsplit(":", 2)[0]


def _offsets(group: GroupInput) -> dict[str, int]:
    times: dict[tuple[int, int], list[int]] = {}
    for record in group.records:
        number = record.epoch if record.record_type == GROUP_EPOCH else record.generation
        if record.record_type in _RECORD_OF.values() and number is not None and not record.is_tombstone:
            ts_ms = (record.state_ts_ms if record.record_type == GROUP_METADATA else None) or record.ts_ms
            times.setdefault((record.record_type, number), []).append(ts_ms)
    pairs: dict[str, list[int]] = {}
    lines: dict[str, int] = {}
    for event in group.events:
        kind = _RECORD_OF.get(event.kind) if event.origin == "text_log" else None
        if kind is None or event.generation is None or (kind, event.generation) not in times:
            continue
        log = log_of(event)
        lines[log] = lines.get(log, 0) + 1
        pairs.setdefault(log, []).extend(event.ts - ts_ms for ts_ms in times[kind, event.generation])
    offsets = {log: _agreed(ahead, lines[log]) for log, ahead in pairs.items()}
    return {log: ahead_ms for log, ahead_ms in offsets.items() if ahead_ms}


def _agreed(ahead: list[int], lines: int) -> int:
    """Return the offset of most pairs, or 0 if they disagree.

    It is rounded to a millisecond or, for a zone, to a quarter of an hour.
    """
    ahead.sort()
    best: tuple[int, int, int] = (0, 0, 0)
    for n, first in enumerate(ahead):
        inside = ahead[n : bisect_right(ahead, first + NEAR_MS)]
        middle = inside[len(inside) // 2]
        best = max(best, (len(inside), -abs(middle), middle))
    agreed, _, offset_ms = best
    if 2 * agreed < lines or abs(offset_ms) <= NEAR_MS:
        return 0
    zone_ms = round(offset_ms / QUARTER_MS) * QUARTER_MS
    return zone_ms if abs(offset_ms - zone_ms) <= NEAR_MS else offset_ms
