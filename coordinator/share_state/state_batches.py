"""State batches: ranges of offsets with the same state, and the merge of newer batches into older ones.

Source: Kafka's `PersisterStateBatchCombiner`; share-groups §15.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Generator, Iterable, Iterator, Sequence
from heapq import heappop, heappush, merge
from itertools import islice
from typing import Final, NamedTuple

from kohort.coordinator.at_once import at_once
from kohort.coordinator.pace import ELEMENTS_AT_ONCE, Pace

UNKNOWN_OFFSET: Final = -1  # as a start offset: unknown, or unchanged


class StateBatch(NamedTuple):
    """First and last offset of records with the same state and delivery count."""

    first_offset: int
    last_offset: int
    delivery_state: int  # 0 available, 2 acknowledged, 4 archived (`RecordState`)
    delivery_count: int


class Merge(NamedTuple):
    """Change of a list of combined batches: those from `begin` to before `end` become `batches`."""

    begin: int
    end: int
    batches: Sequence[StateBatch]
    start_offset: int  # earlier offsets are dropped, unless it is UNKNOWN_OFFSET

    def apply(self, batches: list[StateBatch]) -> None:
        """Apply the change to the list for which it was computed, and which must not have changed since."""
        batches[self.begin : self.end] = self.batches
        if self.start_offset != UNKNOWN_OFFSET:
            dropped = bisect_left(batches, self.start_offset, key=_last_offset)
            batches[: dropped + 1] = _cut(batches[dropped : dropped + 1], self.start_offset)


def combine(batches: Iterable[StateBatch], start_offset: int) -> list[StateBatch]:
    return at_once(combining(batches, start_offset, Pace()))


def combining(batches: Iterable[StateBatch], start_offset: int, pace: Pace) -> Generator[None, None, list[StateBatch]]:
    """Return disjoint batches, sorted by offset, from `start_offset` on; UNKNOWN_OFFSET means all.

    For an offset in several batches, the one with the highest delivery count counts, then the one with the highest
    state. Equal neighbours are joined. Batches whose last offset precedes their first one are dropped; Kafka keeps
    them, and cannot load the partition any more. Yield so that other requests are served.
    """
    sorted_batches = yield from _in_order(batches, start_offset, pace)
    combined: list[StateBatch] = []
    active: list[tuple[tuple[int, int], int]] = []  # heap of the batches with the current offset; the first one counts
    at = 0
    batch = next(sorted_batches, None)
    while batch is not None or active:
        if not active and batch is not None:
            following = next(sorted_batches, None)
            if following is None or following.first_offset > batch.last_offset:  # no other batch has its offsets
                _put(combined, batch)
                batch = following
                if pace.add():
                    yield
                continue
            at = batch.first_offset
            heappush(active, ((-batch.delivery_count, -batch.delivery_state), batch.last_offset))
            batch = following
        while batch is not None and batch.first_offset <= at:
            heappush(active, ((-batch.delivery_count, -batch.delivery_state), batch.last_offset))
            batch = next(sorted_batches, None)
            if pace.add():
                yield
        at = _take_first(active, at, None if batch is None else batch.first_offset, combined)
        if pace.add():
            yield
    return combined


def _in_order(
    batches: Iterable[StateBatch], start_offset: int, pace: Pace
) -> Generator[None, None, Iterator[StateBatch]]:
    remaining, slices = iter(batches), []
    while part := list(islice(remaining, ELEMENTS_AT_ONCE)):
        slices.append(sorted(batch for batch in _cut(part, start_offset) if batch.first_offset <= batch.last_offset))
        if pace.add(len(part)):
            yield
    return merge(*slices) if len(slices) > 1 else iter(slices[0] if slices else ())


def _take_first(
    active: list[tuple[tuple[int, int], int]], at: int, until: int | None, combined: list[StateBatch]
) -> int:
    """Append the batch that counts from `at` on, up to its end or the start of another one. Return the next offset."""
    (count, state), last = active[0]
    end = last if until is None else min(last, until - 1)
    _put(combined, StateBatch(at, end, -state, -count))
    while active and active[0][1] <= end:
        heappop(active)
    return end + 1


def _put(combined: list[StateBatch], batch: StateBatch) -> None:
    last = combined[-1] if combined else None
    if last is not None and last.last_offset + 1 == batch.first_offset and last[2:] == batch[2:]:
        combined[-1] = StateBatch(last.first_offset, batch.last_offset, batch.delivery_state, batch.delivery_count)
    else:
        combined.append(batch)


def merge_into(batches: list[StateBatch], newer: Sequence[StateBatch], start_offset: int) -> None:
    """Merge `newer` into `batches`, which are combined, and drop offsets before `start_offset`."""
    at_once(merging(batches, newer, start_offset, Pace())).apply(batches)


def merging(
    batches: Sequence[StateBatch], newer: Sequence[StateBatch], start_offset: int, pace: Pace
) -> Generator[None, None, Merge]:
    """Compute the change that `merge_into` makes. The batches must not change until it is applied.

    The cost depends on the batches near `newer` only. Yield so that other requests are served.
    """
    if not newer:
        return Merge(0, 0, (), start_offset)
    lowest = min(batch.first_offset for batch in newer) - 1
    highest = max(batch.last_offset for batch in newer) + 1
    begin = bisect_left(batches, lowest, key=_last_offset)
    end = max(bisect_right(batches, highest, key=_first_offset), begin)
    combined = yield from combining([*batches[begin:end], *newer], UNKNOWN_OFFSET, pace)
    return Merge(begin, end, combined, start_offset)


def _cut(batches: Iterable[StateBatch], start_offset: int) -> list[StateBatch]:
    if start_offset == UNKNOWN_OFFSET:
        return list(batches)
    return [
        batch._replace(first_offset=max(batch.first_offset, start_offset))
        for batch in batches
        if batch.last_offset >= start_offset
    ]


def _first_offset(batch: StateBatch) -> int:
    return batch.first_offset


def _last_offset(batch: StateBatch) -> int:
    return batch.last_offset
