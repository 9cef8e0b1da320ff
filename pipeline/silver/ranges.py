"""How far partitions of the log and event logs were read: ranges that follow each other count as one.

A file or a whole reading of a partition is one range. A stream brings a range with every batch; several sources of the
same log bring ranges that overlap.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import pairwise

from kohort.pipeline.silver.silver_rows import EventRange, LogRange
from kohort.pipeline.sources.source_rows import GroupEvent


def joined(ranges: Iterable[LogRange]) -> list[LogRange]:
    """One range for those of a partition that follow each other.

    A range that begins with a hole, or has one inside, is what the joined one is intact from. Ranges that overlap are
    other readings of the same records and stay apart.
    """
    result: list[LogRange] = []
    for each in _in_order(ranges):
        last = result[-1] if result else None
        if last is None or not _follows(last, each):
            result.append(replace(each))
            continue
        if each.intact_from > each.first_offset or each.hole_before:
            last.intact_from = each.intact_from
        last.records += each.records
        last.last_offset = each.last_offset
        last.last_ts_ms = max(last.last_ts_ms, each.last_ts_ms)
        if each.last_epoch is not None:
            last.last_epoch = each.last_epoch
    return result


def moves_between(ranges: Iterable[LogRange]) -> set[tuple[int, int]]:
    """(time, epoch) of coordinators that changed just where one range ends and the next begins."""
    return {
        (each.first_ts_ms, each.first_epoch)
        for before, each in pairwise(_in_order(ranges))
        if _follows(before, each) and before.last_epoch is not None and each.first_epoch is not None
        if before.last_epoch != each.first_epoch
    }


def _in_order(ranges: Iterable[LogRange]) -> Iterator[LogRange]:
    return iter(sorted(ranges, key=lambda each: (each.partition, each.rank, each.first_offset, each.last_offset)))


def _follows(before: LogRange, each: LogRange) -> bool:
    same = (before.partition, before.rank) == (each.partition, each.rank)
    return same and each.first_offset > before.last_offset


def event_ranges(events: Iterable[GroupEvent]) -> list[EventRange]:
    """Return the runs of consecutive numbers among events of event logs, in the order in which a source holds them.

    Events of text logs are skipped: their numbers say only where in the file they are.
    """
    result: list[EventRange] = []
    newest: dict[tuple[int | None, str | None], EventRange] = {}
    for event in events:
        if event.seq is None or event.origin != "event_log":
            continue
        process = (event.node_id, event.boot_id)
        last_range = newest.get(process)
        if last_range is not None and event.seq == last_range.last_seq + 1:
            last_range.last_seq = event.seq
            continue
        newest[process] = EventRange(
            node_id=event.node_id, boot_id=event.boot_id, first_seq=event.seq, last_seq=event.seq
        )
        result.append(newest[process])
    return result
