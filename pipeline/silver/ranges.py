"""Ranges that were read of log partitions and event logs: consecutive ranges are joined.

A file or a complete read of a partition is one range. A stream adds a range with every batch; several sources of the
same log have overlapping ranges.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import pairwise

from kohort.pipeline.silver.silver_rows import EventRange, LogRange
from kohort.pipeline.sources.source_rows import GroupEvent


def joined(ranges: Iterable[LogRange]) -> list[LogRange]:
    """Return one range for consecutive ranges of a partition.

    A range that begins with or contains a gap limits from where the joined one is intact. Overlapping ranges are other
    copies of the same records and stay separate.
    """
    result: list[LogRange] = []
    for log_range in _in_order(ranges):
        last = result[-1] if result else None
        if last is None or not _follows(last, log_range):
            result.append(replace(log_range))
            continue
        if log_range.intact_from > log_range.first_offset or log_range.hole_before:
            last.intact_from = log_range.intact_from
        last.records += log_range.records
        last.last_offset = log_range.last_offset
        last.last_ts_ms = max(last.last_ts_ms, log_range.last_ts_ms)
        if log_range.last_epoch is not None:
            last.last_epoch = log_range.last_epoch
    return result


def moves_between(ranges: Iterable[LogRange]) -> set[tuple[int, int]]:
    """Return (time, epoch) of coordinators that changed exactly between two ranges."""
    return {
        (log_range.first_ts_ms, log_range.first_epoch)
        for previous, log_range in pairwise(_in_order(ranges))
        if _follows(previous, log_range) and previous.last_epoch is not None and log_range.first_epoch is not None
        if previous.last_epoch != log_range.first_epoch
    }


def _in_order(ranges: Iterable[LogRange]) -> Iterator[LogRange]:
    return iter(sorted(ranges, key=lambda r: (r.partition, r.rank, r.first_offset, r.last_offset)))


def _follows(previous: LogRange, log_range: LogRange) -> bool:
    same = (previous.partition, previous.rank) == (log_range.partition, log_range.rank)
    return same and log_range.first_offset > previous.last_offset


def event_ranges(events: Iterable[GroupEvent]) -> list[EventRange]:
    """Return the runs of consecutive numbers among events of event logs, in the order of the source.

    Events of text logs are skipped: their numbers only give the position in the file.
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
