"""What became of records, as ranges of offsets that are alike, and how newer ranges go over older ones.

Source: Kafka's `PersisterStateBatchCombiner`; share-groups §15.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Generator, Iterable, Iterator, Sequence
from heapq import heappop, heappush, merge
from itertools import islice
from typing import Final, NamedTuple

from kohort.coordinator.at_once import at_once
from kohort.coordinator.pace import ELEMENTS_AT_ONCE, Pace

UNKNOWN_OFFSET: Final = -1
"""As a start offset: none is known, or it stays what it was."""


class StateBatch(NamedTuple):
    """Offsets from the first to the last one, what became of them, and how often they were delivered."""

    first_offset: int
    last_offset: int
    delivery_state: int
    """0 available, 2 acknowledged, 4 archived (`RecordState`)."""
    delivery_count: int


class Merge(NamedTuple):
    """A change of a list of combined batches: those from `begin` to before `end` become `batches`."""

    begin: int
    end: int
    batches: Sequence[StateBatch]
    start_offset: int
    """What lies before is dropped then; UNKNOWN_OFFSET: nothing."""

    def apply(self, batches: list[StateBatch]) -> None:
        """Change a list that still is what it was when this was computed."""
        batches[self.begin : self.end] = self.batches
        if self.start_offset != UNKNOWN_OFFSET:
            gone = bisect_left(batches, self.start_offset, key=_last_offset)
            batches[: gone + 1] = _cut(batches[gone : gone + 1], self.start_offset)


def combine(batches: Iterable[StateBatch], start_offset: int) -> list[StateBatch]:
    """Do as `combining`, without a pause."""
    return at_once(combining(batches, start_offset, Pace()))


def combining(batches: Iterable[StateBatch], start_offset: int, pace: Pace) -> Generator[None, None, list[StateBatch]]:
    """Return disjoint batches in the order of their offsets, from `start_offset` on; UNKNOWN_OFFSET means all.

    Where several have an offset, the one that was delivered more often counts, then the one of the higher state.
    Neighbours that are alike become one. Batches that end before they begin are dropped: Kafka keeps them, and does
    not load the partition any more. Yields where others may be served.
    """
    sorted_batches = yield from _in_order(batches, start_offset, pace)
    combined: list[StateBatch] = []
    waiting: list[tuple[tuple[int, int], int]] = []
    """What holds the offset at hand and is not over: the one that counts first."""
    at = 0
    batch = next(sorted_batches, None)
    while batch is not None or waiting:
        if not waiting and batch is not None:
            at = batch.first_offset
        while batch is not None and batch.first_offset <= at:
            heappush(waiting, ((-batch.delivery_count, -batch.delivery_state), batch.last_offset))
            batch = next(sorted_batches, None)
            if pace.add():
                yield
        at = _take_first(waiting, at, None if batch is None else batch.first_offset, combined)
        if pace.add():
            yield
    return combined


def _in_order(
    batches: Iterable[StateBatch], start_offset: int, pace: Pace
) -> Generator[None, None, Iterator[StateBatch]]:
    """Sort batches, and cut them at the start offset; each slice by itself, as sorting all takes long."""
    remaining, slices = iter(batches), []
    while part := list(islice(remaining, ELEMENTS_AT_ONCE)):
        slices.append(sorted(each for each in _cut(part, start_offset) if each.first_offset <= each.last_offset))
        if pace.add(len(part)):
            yield
    return merge(*slices) if len(slices) > 1 else iter(slices[0] if slices else ())


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
    """Put `newer` over `batches`, which are combined, and drop what lies before `start_offset`."""
    at_once(merging(batches, newer, start_offset, Pace())).apply(batches)


def merging(
    batches: Sequence[StateBatch], newer: Sequence[StateBatch], start_offset: int, pace: Pace
) -> Generator[None, None, Merge]:
    """Find what becomes of `batches` by `merge_into`. They must not change until that is applied.

    Costs what is near to `newer`, however many others there are. Yields where others may be served.
    """
    if not newer:
        return Merge(0, 0, (), start_offset)
    lowest = min(each.first_offset for each in newer) - 1
    highest = max(each.last_offset for each in newer) + 1
    begin = bisect_left(batches, lowest, key=_last_offset)
    end = max(bisect_right(batches, highest, key=_first_offset), begin)
    combined = yield from combining([*batches[begin:end], *newer], UNKNOWN_OFFSET, pace)
    return Merge(begin, end, combined, start_offset)


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
