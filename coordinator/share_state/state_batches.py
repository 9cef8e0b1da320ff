"""What became of records, as ranges of offsets that are alike, and how newer ranges go over older ones.

Source: Kafka's `PersisterStateBatchCombiner`; share-groups §15.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from heapq import heappop, heappush
from typing import Final, NamedTuple

UNKNOWN_OFFSET: Final = -1
"""As a start offset: none is known, or it stays what it was."""


class StateBatch(NamedTuple):
    """Offsets from the first to the last one, what became of them, and how often they were delivered."""

    first_offset: int
    last_offset: int
    delivery_state: int
    """0 available, 2 acknowledged, 4 archived (`RecordState`)."""
    delivery_count: int


def combine(batches: Iterable[StateBatch], start_offset: int) -> list[StateBatch]:
    """Disjoint batches in the order of their offsets, from `start_offset` on; UNKNOWN_OFFSET: all.

    Where several hold an offset, the one that was delivered more often counts, then the one of the higher state.
    Neighbours that are alike become one. What ends before it begins is dropped: Kafka keeps it, and does not load the
    partition any more.
    """
    left = sorted(each for each in _cut(batches, start_offset) if each.first_offset <= each.last_offset)
    combined: list[StateBatch] = []
    waiting: list[tuple[tuple[int, int], int]] = []
    """What holds the offset at hand and is not over: the one that counts first."""
    at, index = 0, 0
    while index < len(left) or waiting:
        if not waiting:
            at = left[index].first_offset
        while index < len(left) and left[index].first_offset <= at:
            batch = left[index]
            heappush(waiting, ((-batch.delivery_count, -batch.delivery_state), batch.last_offset))
            index += 1
        at = _take_first(waiting, at, left[index].first_offset if index < len(left) else None, combined)
    return combined


def _take_first(
    waiting: list[tuple[tuple[int, int], int]], at: int, until: int | None, combined: list[StateBatch]
) -> int:
    """Puts down what counts from `at` on, up to its end or to where another begins. Returns the offset behind it."""
    (count, state), last = waiting[0]
    end = last if until is None else min(last, until - 1)
    _put(combined, StateBatch(at, end, -state, -count))
    while waiting and waiting[0][1] <= end:
        heappop(waiting)
    return end + 1


def _put(combined: list[StateBatch], batch: StateBatch) -> None:
    last = combined[-1] if combined else None
    if last is not None and last.last_offset + 1 == batch.first_offset and last[2:] == batch[2:]:
        combined[-1] = StateBatch(last.first_offset, batch.last_offset, batch.delivery_state, batch.delivery_count)
    else:
        combined.append(batch)


def merge_into(batches: list[StateBatch], newer: Sequence[StateBatch], start_offset: int) -> None:
    """Puts `newer` over `batches`, which are combined already, and drops what lies before `start_offset`.

    Costs what is near to `newer`, however many others there are.
    """
    if newer:
        lowest = min(each.first_offset for each in newer) - 1
        highest = max(each.last_offset for each in newer) + 1
        begin = bisect_left(batches, lowest, key=_last_offset)
        end = max(bisect_right(batches, highest, key=_first_offset), begin)
        batches[begin:end] = combine([*batches[begin:end], *newer], UNKNOWN_OFFSET)
    if start_offset != UNKNOWN_OFFSET:
        gone = bisect_left(batches, start_offset, key=_last_offset)
        batches[: gone + 1] = _cut(batches[gone : gone + 1], start_offset)


def _cut(batches: Iterable[StateBatch], start_offset: int) -> list[StateBatch]:
    """What of them lies at or behind `start_offset`."""
    if start_offset == UNKNOWN_OFFSET:
        return list(batches)
    return [
        each._replace(first_offset=max(each.first_offset, start_offset))
        for each in batches
        if each.last_offset >= start_offset
    ]


def _first_offset(batch: StateBatch) -> int:
    return batch.first_offset


def _last_offset(batch: StateBatch) -> int:
    return batch.last_offset
