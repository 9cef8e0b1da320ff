"""State batches: ranges of offsets with the same state, and the merge of newer batches into older ones.

Source: Kafka's `PersisterStateBatchCombiner`; share-groups §15.
"""

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Generator, Iterable, Iterator, Sequence
from heapq import heappop, heappush, merge
from itertools import islice, pairwise
from operator import eq, le, lt
from typing import Final, NamedTuple, overload

from kohort.coordinator.at_once import at_once
from kohort.coordinator.pace import ELEMENTS_AT_ONCE, Pace, column_weight

UNKNOWN_OFFSET: Final = -1  # as a start offset: unknown, or unchanged


class StateBatch(NamedTuple):
    """First and last offset of records with the same state and delivery count."""

    first_offset: int
    last_offset: int
    delivery_state: int  # 0 available, 2 acknowledged, 4 archived (`RecordState`)
    delivery_count: int


class StateBatches(Sequence[StateBatch]):
    """State batches in columns, which take 19 bytes for each batch."""

    __slots__ = ("counts", "firsts", "lasts", "states")

    def __init__(
        self,
        firsts: Iterable[int] = (),
        lasts: Iterable[int] = (),
        states: Iterable[int] = (),
        counts: Iterable[int] = (),
    ) -> None:
        self.firsts = array("q", firsts)
        self.lasts = array("q", lasts)
        self.states = array("b", states)
        self.counts = array("h", counts)

    @classmethod
    def of(cls, batches: Iterable[StateBatch]) -> "StateBatches":
        return cls(*zip(*batches, strict=True))

    def append(self, batch: Sequence[int]) -> None:
        first, last, state, count = batch
        self.firsts.append(first)
        self.lasts.append(last)
        self.states.append(state)
        self.counts.append(count)

    def put(self, batch: Sequence[int]) -> None:
        """Append a batch, or extend the last one if it is adjacent and has the same state and count."""
        if self.lasts and (self.lasts[-1] + 1, self.states[-1], self.counts[-1]) == (batch[0], batch[2], batch[3]):
            self.lasts[-1] = batch[1]
        else:
            self.append(batch)

    def put_all(self, batches: "StateBatches") -> None:
        """Put batches that are sorted and disjoint."""
        if batches.has_equal_neighbours:
            for batch in batches:
                self.put(batch)
        elif batches:
            self.put(batches[0])
            self.replace(len(self), len(self), batches[1:])

    @property
    def has_equal_neighbours(self) -> bool:
        """Whether adjacent batches have the same state and count."""
        # A request can change the state of every other record, so this compares the column of states first.
        return any(map(eq, self.states, self.states[1:])) and any(
            one.last_offset + 1 == other.first_offset and one[2:] == other[2:] for one, other in pairwise(self)
        )

    def replace(self, begin: int, end: int, batches: "StateBatches") -> None:
        """Replace the batches from `begin` to before `end`."""
        self.firsts[begin:end] = batches.firsts
        self.lasts[begin:end] = batches.lasts
        self.states[begin:end] = batches.states
        self.counts[begin:end] = batches.counts

    def drop_before(self, start_offset: int) -> None:
        """Drop offsets of combined batches."""
        self.replace(0, bisect_left(self.lasts, start_offset), NO_BATCHES)
        if self.firsts and self.firsts[0] < start_offset:
            self.firsts[0] = start_offset

    def __len__(self) -> int:
        return len(self.firsts)

    @overload
    def __getitem__(self, index: int) -> StateBatch: ...
    @overload
    def __getitem__(self, index: slice) -> "StateBatches": ...

    def __getitem__(self, index: int | slice) -> "StateBatch | StateBatches":
        if isinstance(index, int):
            return StateBatch(self.firsts[index], self.lasts[index], self.states[index], self.counts[index])
        return StateBatches(self.firsts[index], self.lasts[index], self.states[index], self.counts[index])

    def __iter__(self) -> Iterator[StateBatch]:
        return map(StateBatch, self.firsts, self.lasts, self.states, self.counts)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return repr(list(self))


NO_BATCHES: Final = StateBatches()


class Merge(NamedTuple):
    """Change of combined batches: those from `begin` to before `end` become `batches`."""

    begin: int
    end: int
    batches: StateBatches
    start_offset: int  # earlier offsets are dropped, unless it is UNKNOWN_OFFSET

    def apply(self, batches: StateBatches) -> None:
        """Apply the change to the batches for which it was computed, and which must not have changed since."""
        batches.replace(self.begin, self.end, self.batches)
        if self.start_offset != UNKNOWN_OFFSET:
            batches.drop_before(self.start_offset)


def combine(batches: Iterable[StateBatch], start_offset: int) -> StateBatches:
    return at_once(combining(batches, start_offset, Pace()))


def combining(batches: Iterable[StateBatch], start_offset: int, pace: Pace) -> Generator[None, None, StateBatches]:
    """Return disjoint batches, sorted by offset, from `start_offset` on; UNKNOWN_OFFSET means all.

    For an offset in several batches, the one with the highest delivery count counts, then the one with the highest
    state. Equal neighbours are joined. Batches whose last offset precedes their first one are dropped; Kafka keeps
    them, and cannot load the partition any more. Yield so that other requests are served.
    """
    if isinstance(batches, StateBatches) and (yield from _are_combined(batches, start_offset, pace)):
        return batches
    sorted_batches = yield from _in_order(batches, start_offset, pace)
    combined = StateBatches()
    active: list[tuple[tuple[int, int], int]] = []  # heap of the batches with the current offset; the first one counts
    at = 0
    batch = next(sorted_batches, None)
    while batch is not None or active:
        if not active and batch is not None:
            following = next(sorted_batches, None)
            while following is not None and following[:2] == batch[:2]:  # the usual case of several ones
                batch = max(batch, following, key=_priority)
                following = next(sorted_batches, None)
            if following is None or following.first_offset > batch.last_offset:  # no other batch has its offsets
                combined.put(batch)
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


def _are_combined(batches: StateBatches, start_offset: int, pace: Pace) -> Generator[None, None, bool]:
    if batches and batches.firsts[0] < start_offset:
        return False
    for at in range(0, len(batches), ELEMENTS_AT_ONCE):
        part = batches[at : at + ELEMENTS_AT_ONCE + 1]  # with the first one of the next slice
        is_sorted = all(map(le, part.firsts, part.lasts)) and all(map(lt, part.lasts, part.firsts[1:]))
        if not is_sorted or part.has_equal_neighbours:
            return False
        if pace.add(column_weight(len(part))):
            yield
    return True


def _in_order(
    batches: Iterable[StateBatch], start_offset: int, pace: Pace
) -> Generator[None, None, Iterator[StateBatch]]:
    remaining, slices = iter(batches), []
    while part := list(islice(remaining, ELEMENTS_AT_ONCE)):
        slices.append(sorted(batch for batch in _cut(part, start_offset) if batch.first_offset <= batch.last_offset))
        if pace.add(len(part)):
            yield
    return merge(*slices) if len(slices) > 1 else iter(slices[0] if slices else ())


def _take_first(active: list[tuple[tuple[int, int], int]], at: int, until: int | None, combined: StateBatches) -> int:
    """Append the batch that counts from `at` on, up to its end or the start of another one. Return the next offset."""
    (count, state), last = active[0]
    end = last if until is None else min(last, until - 1)
    combined.put((at, end, -state, -count))
    while active and active[0][1] <= end:
        heappop(active)
    return end + 1


def merge_into(batches: StateBatches, newer: StateBatches, start_offset: int) -> None:
    """Merge `newer` into `batches`, which are combined, and drop offsets before `start_offset`."""
    at_once(merging(batches, newer, start_offset, Pace())).apply(batches)


def merging(batches: StateBatches, newer: StateBatches, start_offset: int, pace: Pace) -> Generator[None, None, Merge]:
    """Compute the change that `merge_into` makes. The batches must not change until it is applied.

    The cost depends on the batches near `newer` only. Yield so that other requests are served.
    """
    if not newer:
        return Merge(0, 0, NO_BATCHES, start_offset)
    begin = bisect_left(batches.lasts, min(newer.firsts) - 1)
    end = max(bisect_right(batches.firsts, max(newer.lasts) + 1), begin)
    both = batches[begin:end]
    both.replace(len(both), len(both), newer)
    return Merge(begin, end, (yield from combining(both, UNKNOWN_OFFSET, pace)), start_offset)


def _cut(batches: Iterable[StateBatch], start_offset: int) -> list[StateBatch]:
    if start_offset == UNKNOWN_OFFSET:
        return list(batches)
    return [
        batch._replace(first_offset=max(batch.first_offset, start_offset))
        for batch in batches
        if batch.last_offset >= start_offset
    ]


def _priority(batch: StateBatch) -> tuple[int, int]:
    return batch.delivery_count, batch.delivery_state
