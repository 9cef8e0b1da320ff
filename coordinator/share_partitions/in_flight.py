"""In-flight records of a share partition: ranges of equal offsets, and the batches to which they belong.

A batch is a part of the log that was acquired at once. It stays whole while all its records have the same state. Then
it is split and its offsets are checked one by one, as in Kafka (`InFlightBatch`). Kafka then keeps an object for each
offset; here equal neighbours stay one range. Ranges are columns of numbers: each one takes about fifty bytes,
whatever the number of its records and of the fetches that acquired them.
"""

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Generator, Iterable, Iterator
from itertools import compress
from operator import eq, ne
from typing import Final

from kohort.coordinator.pace import ELEMENTS_AT_ONCE, Pace
from kohort.coordinator.share_partitions.record_states import AVAILABLE, IS_TERMINAL

_NOWHERE: Final = 2**63 - 1


class Pending:
    """Placeholder for the holder of records whose new state is being written."""

    __slots__ = ("member_id",)

    def __init__(self, member_id: str) -> None:
        self.member_id = member_id


Holder = str | Pending  # the id of a member, or a placeholder while a state is being written

NOT_LOCKED: Final = _NOWHERE  # lock expiry of a range without holder


def member_of(holder: Holder) -> str:
    """Return the id of the member that holds a range, or that held it before the pending write."""
    return holder if isinstance(holder, str) else holder.member_id


class InFlight:
    """Batches and ranges, each sorted by offset. Offsets in between have no records."""

    __slots__ = (
        "_passed_below",
        "available_from",
        "batch_firsts",
        "batch_lasts",
        "complete",
        "counts",
        "end",
        "firsts",
        "holders",
        "lasts",
        "locked_until",
        "split",
        "start",
        "states",
    )

    def __init__(self, start: int) -> None:
        self.start = start  # start offset of the share partition; earlier records are never delivered
        self.end = start  # the highest offset acquired so far; the start if nothing is in flight
        self.complete = 0  # offsets from the start on in a terminal state
        self.batch_firsts = array("q")
        self.batch_lasts = array("q")
        self.split = bytearray()
        self.firsts = array("q")
        self.lasts = array("q")
        self.states = bytearray()
        self.counts = array("h")  # delivery count of each range
        self.holders: list[Holder | None] = []
        self.locked_until = array("q")  # lock expiry of each range, in monotonic milliseconds, or NOT_LOCKED
        self.available_from = _NOWHERE  # no lower offset is available
        self._passed_below = 0  # `_is_passed` is true of every range that ends below this offset

    def __len__(self) -> int:
        return len(self.firsts)

    @property
    def is_empty(self) -> bool:
        return not self.batch_firsts

    @property
    def count(self) -> int:
        """Offsets that count against the limit of locks: all from the start to the end."""
        return self.end - self.start + 1 if self.batch_firsts else 0

    # Batches

    def batch_at_or_before(self, offset: int) -> int:
        """Return the number of the last batch that begins at `offset` or before, or -1."""
        return bisect_right(self.batch_firsts, offset) - 1

    def batches_beginning_in(self, first: int, last: int) -> range:
        return range(bisect_left(self.batch_firsts, first), bisect_right(self.batch_firsts, last))

    def free_until(self, first: int, last: int) -> int:
        """Return the last offset that a new batch from `first` may have without overlapping the next batch."""
        number = bisect_left(self.batch_firsts, first)
        return min(last, self.batch_firsts[number] - 1) if number < len(self.batch_firsts) else last

    def add(
        self, first: int, last: int, state: int, count: int, holder: Holder | None, until_ms: int = NOT_LOCKED
    ) -> None:
        """Add a batch. Offsets below the start are not counted as complete. See `change` for the other arguments."""
        number = bisect_left(self.batch_firsts, first)
        self.batch_firsts.insert(number, first)
        self.batch_lasts.insert(number, last)
        self.split.insert(number, False)
        index = bisect_left(self.firsts, first)
        self._insert(index, first, last, AVAILABLE, 0, None, NOT_LOCKED)
        self.change(index, state, count, holder, until_ms)

    def _insert(
        self, index: int, first: int, last: int, state: int, count: int, holder: Holder | None, until_ms: int
    ) -> None:
        self.firsts.insert(index, first)
        self.lasts.insert(index, last)
        self.states.insert(index, state)
        self.counts.insert(index, count)
        self.holders.insert(index, holder)
        self.locked_until.insert(index, until_ms)

    # Ranges

    def carve(self, first: int, last: int) -> range:
        """Return the numbers of the ranges between two offsets (inclusive), and cut ranges that extend beyond."""
        begin = bisect_left(self.lasts, first)
        if begin < len(self.firsts) and self.firsts[begin] < first <= last:
            self._cut(begin, first)
            begin += 1
        end = bisect_right(self.firsts, last)
        if end > begin and self.lasts[end - 1] > last:
            self._cut(end - 1, last + 1)
        return range(begin, max(begin, end))

    def ranges_between(self, first: int, last: int) -> range:
        begin = bisect_left(self.lasts, first)
        return range(begin, max(begin, bisect_right(self.firsts, last)))

    def slices(self, first: int, last: int, *, cut: bool = False) -> Iterable[range]:
        """Return the numbers of the ranges between two offsets (inclusive), ELEMENTS_AT_ONCE at a time.

        The first slice is looked up now, and each other one by its first offset when it is needed. So ranges may change
        between two slices, and those of a slice may be cut and joined.

        Args:
            cut: Whether to cut ranges that extend beyond the offsets, as `carve` does.
        """
        if first > last:
            return ()
        part = self.carve(first, last) if cut else self.ranges_between(first, last)
        if len(part) > ELEMENTS_AT_ONCE:
            return self._many_slices(part, last, cut=cut)
        return (part,) if part else ()

    def _many_slices(self, part: range, last: int, *, cut: bool) -> Iterator[range]:
        while part:
            part = part[:ELEMENTS_AT_ONCE]
            first = self.lasts[part[-1]] + 1
            yield part
            if first > last:
                return
            part = self.carve(first, last) if cut else self.ranges_between(first, last)

    def _cut(self, index: int, offset: int) -> None:
        self.split[self.batch_at_or_before(offset)] = True
        state, count, holder = self.states[index], self.counts[index], self.holders[index]
        self._insert(index + 1, offset, self.lasts[index], state, count, holder, self.locked_until[index])
        self.lasts[index] = offset - 1

    def divide(self, index: int, values: bytes) -> tuple[range, bytes]:
        """Cut a range where neighbouring values differ. Return the numbers of its parts, and the value of each.

        Columns are changed at once, because a request can have a different value for each of thousands of records.

        Args:
            values: One value for each offset, or one for all.
        """
        if len(values) == 1:
            return range(index, index + 1), values
        begins_part = [True, *map(ne, values, values[1:])]
        first, last = self.firsts[index], self.lasts[index]
        firsts = array("q", compress(range(first, last + 1), begins_part))
        lasts = array("q", [part_first - 1 for part_first in firsts[1:]])
        lasts.append(last)
        self.split[self.batch_at_or_before(first)] = True
        self.firsts[index : index + 1] = firsts
        self.lasts[index : index + 1] = lasts
        self.states[index : index + 1] = self.states[index : index + 1] * len(firsts)
        self.counts[index : index + 1] = self.counts[index : index + 1] * len(firsts)
        self.holders[index : index + 1] = self.holders[index : index + 1] * len(firsts)
        self.locked_until[index : index + 1] = self.locked_until[index : index + 1] * len(firsts)
        return range(index, index + len(firsts)), bytes(compress(values, begins_part))

    def change(self, index: int, state: int, count: int, holder: Holder | None, until_ms: int = NOT_LOCKED) -> None:
        first, last = self.firsts[index], self.lasts[index]
        is_terminal, was_terminal = IS_TERMINAL[state], IS_TERMINAL[self.states[index]]
        if is_terminal != was_terminal and last >= self.start:
            size = last - max(first, self.start) + 1
            self.complete += size if is_terminal else -size
        self.states[index] = state
        self.counts[index] = count
        self.holders[index] = holder
        self.locked_until[index] = until_ms
        if first < self._passed_below:
            self._passed_below = first
        if state == AVAILABLE and holder is None and first < self.available_from:
            self.available_from = first

    def begin_write(self, ranges: range, states: bytes, holder: Pending) -> None:
        """Set the states of acquired ranges, which stay locked."""
        for index, state in zip(ranges, states, strict=True):
            if IS_TERMINAL[state] and self.lasts[index] >= self.start:
                self.complete += self.lasts[index] - max(self.firsts[index], self.start) + 1
        self.states[ranges.start : ranges.stop] = states
        self.holders[ranges.start : ranges.stop] = [holder] * len(ranges)
        self._passed_below = min(self._passed_below, self.firsts[ranges.start])

    def end_write(self, ranges: range, holder: Pending) -> bool:
        """Remove this holder of ranges, which unlocks them. Return whether records are available."""
        holders, states, is_available = self.holders, self.states, False
        for index in ranges:
            if holders[index] is holder:
                holders[index] = None
                self.locked_until[index] = NOT_LOCKED
                is_available = is_available or states[index] == AVAILABLE
        self._passed_below = min(self._passed_below, self.firsts[ranges.start])
        if is_available:
            self.available_from = min(self.available_from, self.firsts[states.index(AVAILABLE, ranges.start)])
        return is_available

    def join(self, begin: int, end: int) -> None:
        begin, end = max(begin - 1, 0), min(end + 1, len(self.firsts))
        if not any(map(eq, self.states[begin : end - 1], self.states[begin + 1 : end])):
            return
        kept = [index for index in range(begin, end) if index == begin or not self._are_alike(index - 1, index)]
        if len(kept) == end - begin:
            return
        ends = [*(index - 1 for index in kept[1:]), end - 1]
        self.lasts[begin:end] = array("q", [self.lasts[index] for index in ends])
        self.firsts[begin:end] = array("q", [self.firsts[index] for index in kept])
        self.states[begin:end] = bytes([self.states[index] for index in kept])
        self.counts[begin:end] = array("h", [self.counts[index] for index in kept])
        self.holders[begin:end] = [self.holders[index] for index in kept]
        self.locked_until[begin:end] = array("q", [self.locked_until[index] for index in kept])

    def join_between(self, first: int, last: int, pace: Pace) -> Iterator[None]:
        for part in self.slices(first, last):
            self.join(part.start, part.stop)
            if pace.add(len(part)):
                yield

    def _are_alike(self, one: int, other: int) -> bool:
        return (
            self.states[one] == self.states[other]
            and self.counts[one] == self.counts[other]
            and self.holders[one] == self.holders[other]
            and self.locked_until[one] == self.locked_until[other]
            and self.lasts[one] + 1 == self.firsts[other]
            and not self._begins_batch(self.firsts[other])
        )

    def _begins_batch(self, offset: int) -> bool:
        number = bisect_left(self.batch_firsts, offset)
        return number < len(self.batch_firsts) and self.batch_firsts[number] == offset

    # The next available offset and the start offset

    def next_available(self) -> int | None:
        """Return the lowest offset that can be delivered again, or None.

        Offsets below the start are skipped: if the log starts in the middle of a batch, they do not exist.
        """
        if self.available_from == _NOWHERE:
            return None
        index = bisect_left(self.lasts, max(self.available_from, self.start))
        # Searched for in bytes, since any number of acquired ranges may lie in between.
        while (index := self.states.find(AVAILABLE, index)) >= 0:
            if self.holders[index] is None:
                self.available_from = self.firsts[index]
                return max(self.available_from, self.start)
            index += 1
        self.available_from = _NOWHERE
        return None

    def move_start(self, start: int) -> None:
        """Move the start to a later offset. Terminal ranges below are not counted as complete any more."""
        for index in self.ranges_between(self.start, start - 1):
            if IS_TERMINAL[self.states[index]]:
                self.complete -= min(self.lasts[index], start - 1) - max(self.firsts[index], self.start) + 1
        self.start = start

    def passing(self, pace: Pace) -> Generator[None, None, bool]:
        """Move the start past terminal records and drop batches below it. Return whether it moved.

        Yield so that other requests are served. Source: Kafka's `SharePartition.maybeUpdateCachedStateAndOffsets`.
        """
        old_start = self.start
        while self.batch_firsts:
            begin = index = bisect_left(self.lasts, self._passed_below)
            end = min(begin + ELEMENTS_AT_ONCE, len(self.firsts))
            while index < end and self._is_passed(index):
                index += 1
            if index == len(self.firsts):
                self._pass_all()
                break
            self._passed_below = self.firsts[index]
            if self._passed_below > self.start:
                self.move_start(self._passed_below)
                self._drop_batches(bisect_left(self.batch_lasts, self.start))
            if index < end:
                break
            if pace.add(index - begin):
                yield
        return self.start != old_start

    def _is_passed(self, index: int) -> bool:
        if self.lasts[index] < self.start:
            return not isinstance(self.holders[index], Pending)
        return IS_TERMINAL[self.states[index]] and self.holders[index] is None

    def _pass_all(self) -> None:
        self.start = self.end = self._passed_below = max(self.lasts[-1] + 1, self.start)
        self._drop_batches(len(self.batch_firsts))
        self.complete = 0

    def _drop_batches(self, count: int) -> None:
        if not count:
            return
        ranges = bisect_right(self.lasts, self.batch_lasts[count - 1])
        del self.firsts[:ranges]
        del self.lasts[:ranges]
        del self.states[:ranges]
        del self.counts[:ranges]
        del self.holders[:ranges]
        del self.locked_until[:ranges]
        del self.batch_firsts[:count]
        del self.batch_lasts[:count]
        del self.split[:count]
