"""Finds the time zone of a broker's text log: the log doesn't name it, and most brokers write local time.

The offsets topic's times are absolute, and both sources date the same generations within milliseconds. Zones differ by
whole quarters of an hour.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from kohort.pipeline.history.inputs import GroupInput
from kohort.pipeline.records.layouts import GROUP_EPOCH, GROUP_METADATA

QUARTER_MS = 900_000
NEAR_MS = 10_000
_RECORD_OF = {"join_completed": GROUP_METADATA, "epoch_bumped": GROUP_EPOCH}


def settle_zone(group: GroupInput) -> None:
    """Moves the events of text logs to the offsets topic's time, and notes by how much."""
    quarters = _quarters_ahead(group)
    if not quarters:
        return
    group.zone_ms = quarters * QUARTER_MS
    group.events = [
        replace(event, ts=event.ts - group.zone_ms) if event.origin == "text_log" else event for event in group.events
    ]
    moves = group.coordinator_moves
    group.coordinator_moves = [
        (ts_ms, epoch)
        for ts_ms, epoch in moves
        if not any(epoch == of and abs(ts_ms - group.zone_ms - other) <= NEAR_MS for other, of in moves)
    ]


def _quarters_ahead(group: GroupInput) -> int:
    """By how many quarters of an hour most lines are ahead of their records; 0 where few lines agree."""
    times: dict[tuple[int, int], list[int]] = {}
    for record in group.records:
        number = record.epoch if record.record_type == GROUP_EPOCH else record.generation
        if record.record_type in _RECORD_OF.values() and number is not None and not record.is_tombstone:
            ts_ms = (record.state_ts_ms if record.record_type == GROUP_METADATA else None) or record.ts_ms
            times.setdefault((record.record_type, number), []).append(ts_ms)
    votes: Counter[int] = Counter()
    lines = 0
    for event in group.events:
        kind = _RECORD_OF.get(event.kind) if event.origin == "text_log" else None
        if kind is None or event.generation is None or (kind, event.generation) not in times:
            continue
        lines += 1
        ahead = {round((event.ts - ts_ms) / QUARTER_MS): event.ts - ts_ms for ts_ms in times[kind, event.generation]}
        votes.update(quarters for quarters, ms in ahead.items() if abs(ms - quarters * QUARTER_MS) <= NEAR_MS)
    if not votes:
        return 0
    quarters, agreed = max(votes.items(), key=lambda vote: (vote[1], vote[0] == 0))
    return quarters if 2 * agreed >= lines else 0
