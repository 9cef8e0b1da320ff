"""Figures of a run: what disturbances cost a group."""

from __future__ import annotations

import itertools
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from kohort.whatif.script import Script

STALL_MS = 500  # a partition stands still when an unread record has waited this long
Interval = tuple[int, int]


class Figures(NamedTuple):
    """What the disturbances of a script cost; times in seconds."""

    rebalances: float
    stalled_partition_seconds: float
    group_stop_seconds: float
    records_read_again: float
    seconds_to_stable: float
    seconds_to_catch_up: float = 0.0
    members_working_at_the_end: float = 0.0


def find_stalls(progress: Sequence[tuple[int, int]], appended: Sequence[int], begin: int, end: int) -> list[Interval]:
    """Return when a partition stood still: records waited, and no batch with the next one was finished.

    Args:
        progress: Times and next offsets of finished batches.
        appended: Append times by offset.
    """
    stalls: list[Interval] = []
    position = last = 0
    for ms, offset in [*sorted(progress), (end, -1)]:
        if 0 <= offset <= position:
            continue
        if position < len(appended) and appended[position] < ms:
            since = max(last, appended[position])
            if ms - since >= STALL_MS and ms > begin and since < end:
                interval = max(since, begin), min(ms, end)
                if interval[1] > interval[0]:
                    stalls.append(interval)
        if offset >= 0:
            position, last = offset, ms
    return stalls


def find_rough_stalls(
    progress: Sequence[tuple[int, int]], appended: Sequence[int], begin: int, end: int, every_ms: int = 5_000
) -> list[Interval]:
    """Return stalls of a partition whose offsets are committed at intervals: what two commits lie apart beyond that."""
    stalls: list[Interval] = []
    position, last = 0, -1
    for ms, offset in [*sorted(progress), (end, -1)]:
        if 0 <= offset <= position:
            continue
        if last >= 0 and ms - last > 1.3 * every_ms and position < len(appended) and appended[position] < ms:
            interval = max(last + every_ms // 2, begin), min(ms, end)
            if interval[1] > interval[0]:
                stalls.append(interval)
        if offset >= 0:
            position, last = offset, ms
    return stalls


def overlap_ms(stalls: Mapping[int, Sequence[Interval]], born: Mapping[int, int], begin: int, end: int) -> int:
    """Return the time in which all existing partitions stand still."""
    marks = {begin, end} | {ms for intervals in stalls.values() for interval in intervals for ms in interval}
    marks |= {ms for ms in born.values() if begin < ms < end}
    ordered = sorted(ms for ms in marks if begin <= ms <= end)
    edges = sorted([(a, 1) for i in stalls.values() for a, _ in i] + [(b, -1) for i in stalls.values() for _, b in i])
    births = sorted(born.values())
    total = open_stalls = edge = alive = 0
    for start, stop in itertools.pairwise(ordered):
        while edge < len(edges) and edges[edge][0] <= start:
            open_stalls += edges[edge][1]
            edge += 1
        while alive < len(births) and births[alive] <= start:
            alive += 1
        if alive and open_stalls >= alive:
            total += stop - start
    return total


def settling_ms(moves: Iterable[int], disturbances: Sequence[int], end: int) -> int:
    """Return the sum of the times from each disturbance to the last change of an assignment before the next one."""
    total = 0
    ordered = sorted(moves)
    for begin, until in zip(disturbances, [*disturbances[1:], end], strict=True):
        number = bisect_left(ordered, until)
        if number and ordered[number - 1] >= begin:
            total += ordered[number - 1] - begin
    return total


def catch_up_ms(progress: Mapping[int, Sequence[tuple[int, int]]], script: Script, mark: int, end: int) -> int:
    """Return the time at which everything appended until `mark` has been worked on, or `end`."""
    caught_up_ms = mark
    for partition in script.arrivals:
        need = script.appended(partition, mark)
        if need:
            caught_up_ms = max(
                caught_up_ms, min((ms for ms, offset in progress.get(partition, ()) if offset >= need), default=end)
            )
    return caught_up_ms
