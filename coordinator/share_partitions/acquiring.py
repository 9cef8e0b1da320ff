"""What a member may take of the records that were read for it, and what it holds from now on.

Batches from the log and batches in flight are not the same ones: after a restart, or when few records are taken at a
time, they overlap. Source: Kafka's `SharePartition.acquire`, whose order and limits are kept;
share-groups §11.
"""

from collections.abc import Generator, Sequence
from typing import Final, NamedTuple

from kohort.coordinator.at_once import at_once
from kohort.coordinator.pace import Pace
from kohort.coordinator.share_partitions.record_observer import ABORTED, COMPACTED, UNOBSERVED, fate_of
from kohort.coordinator.share_partitions.record_states import ACQUIRED, ARCHIVED, AVAILABLE
from kohort.coordinator.share_partitions.share_partition import MOST_DELIVERIES, Progress, SharePartition

FEW_DELIVERIES: Final = 2
"""From so many on a record may be delivered more carefully, and with so many allowed none is delivered alone."""


class LogBatch(NamedTuple):
    """A record batch that was read: where it begins and ends."""

    first_offset: int
    last_offset: int


class Wanted(NamedTuple):
    """What a member asks for."""

    member_id: str
    max_records: int
    batch_size: int
    """Records of one entry; less than one counts as one: each batch is an entry of its own. Kafka adds an entry that
    ends before it begins."""
    exactly: bool = False
    """Not one record more than `max_records` (KIP-1206: record-limit); else up to the end of a batch."""


class Acquired(NamedTuple):
    """An entry of the answer: offsets that the member holds now, and how often they were delivered with that."""

    first_offset: int
    last_offset: int
    delivery_count: int


def acquiring(
    partition: SharePartition,
    wanted: Wanted,
    fetch_offset: int,
    read: Sequence[LogBatch],
    aborted: Sequence[LogBatch],
    now_ms: int,
) -> Generator[None, None, list[Acquired]]:
    """Give a member what is available among the batches read from `fetch_offset` on.

    Yields where others may be served. No other member may acquire records of the share partition meanwhile:
    `is_acquired_from`.

    Args:
        aborted: Batches of aborted transactions among those read, if the group has committed records only. They are
            archived, and not delivered.
    """
    in_flight = partition.in_flight
    if partition.progress is not Progress.ACTIVE or wanted.max_records <= 0 or not read:
        return []
    if read[-1].last_offset < in_flight.start:
        return []
    most, last = _limits(partition, wanted, fetch_offset, read[-1].last_offset)
    if most <= 0:
        return []
    acquisition = _Acquisition(partition, wanted, read, aborted, last, most, now_ms)
    entries = acquisition.entries
    partition.is_acquired_from = True
    try:
        for _ in acquisition.steps(fetch_offset):
            acquisition.report()
            yield
        if aborted:
            entries = yield from _without(entries, aborted, acquisition.pace)
    finally:
        acquisition.report()
        if entries:
            partition.keep_until(acquisition.until_ms)
        partition.is_acquired_from = False
        if partition.has_refused_fetch:
            partition.has_refused_fetch = False
            partition.host.changed(partition, now_ms)
    return entries


def needs_no_more(partition: SharePartition, request: Wanted, read: Sequence[LogBatch]) -> bool:
    """Return whether batches behind those read cannot matter to `acquiring`, however many there are in the log."""
    behind = max(partition.in_flight.end + 1, read[0].first_offset)
    return read[-1].last_offset >= behind + min(request.max_records, partition.config.partition_max_record_locks)


def _limits(partition: SharePartition, wanted: Wanted, fetch_offset: int, last: int) -> tuple[int, int]:
    """How many records may be taken, and up to which offset: where no more may be in flight, only what is already."""
    in_flight = partition.in_flight
    most = min(wanted.max_records, partition.config.partition_max_record_locks - in_flight.count)
    if most <= 0 and fetch_offset <= in_flight.end:
        return min(wanted.max_records, in_flight.end - fetch_offset + 1), min(last, in_flight.end)
    return most, last


class _Acquisition:
    """One call of `acquire`."""

    def __init__(
        self,
        partition: SharePartition,
        wanted: Wanted,
        read: Sequence[LogBatch],
        aborted: Sequence[LogBatch],
        last: int,
        most: int,
        now_ms: int,
    ) -> None:
        self._partition = partition
        self._in_flight = partition.in_flight
        self._wanted = wanted
        self._read = read
        self._aborted = aborted
        self._first, self._last = read[0].first_offset, last
        self._most = most
        """How many records may be taken; 0 once no more are to be."""
        self._limit = partition.config.delivery_count_limit
        self._careful_from = max(FEW_DELIVERIES, (self._limit + 1) // 2)
        """What was delivered so often is delivered in smaller pieces, so that a bad record is found."""
        self.until_ms = partition.locks_until(now_ms)
        """When the locks expire of what is taken."""
        self.pace = Pace()
        self.entries: list[Acquired] = []
        self._taken = 0
        self._news: list[Acquired] | None = None if partition.host.record_observer is UNOBSERVED else []
        """What was acquired and not reported, if it is to be."""

    @property
    def _left(self) -> int:
        return self._most - self._taken

    def steps(self, fetch_offset: int) -> Generator[None, None, None]:
        """Archive what is not in the log any more, take what there is, and archive what was aborted."""
        yield from self._archive_what_is_gone(fetch_offset)
        yield from self._take()
        yield from self._archive_aborted()

    def report(self) -> None:
        """Report what was acquired, before others may release it."""
        if self._news:
            entries = at_once(_without(self._news, self._aborted, Pace())) if self._aborted else self._news
            if entries:
                self._partition.host.record_observer.acquired(self._partition.key, self._wanted.member_id, entries)
            self._news = []

    def _archive_what_is_gone(self, fetch_offset: int) -> Generator[None, None, None]:
        """Archive what is available and not in the log any more: compaction has removed it."""
        in_flight = self._in_flight
        for part in in_flight.slices(fetch_offset, self._first - 1, cut=True):
            for index in part:
                if in_flight.states[index] == AVAILABLE and in_flight.holders[index] is None:
                    self._archive(index, COMPACTED)
            if self.pace.add(len(part)):
                yield

    def _archive_aborted(self) -> Generator[None, None, None]:
        """Archive the records of transactions that were aborted."""
        in_flight = self._in_flight
        for batch in self._aborted:
            for part in in_flight.slices(batch.first_offset, batch.last_offset, cut=True):
                for index in part:
                    if isinstance(in_flight.holders[index], str):
                        self._archive(index, ABORTED)
                in_flight.join(part.start, part.stop)
                if self.pace.add(len(part)):
                    yield

    def _archive(self, index: int, why: str) -> None:
        partition, in_flight = self._partition, self._in_flight
        holder, until_ms = in_flight.holders[index], in_flight.locked_until[index]
        in_flight.change(index, ARCHIVED, in_flight.counts[index], None)
        if partition.host.record_observer is not UNOBSERVED:
            is_of_now = holder == self._wanted.member_id and until_ms == self.until_ms
            member_id = holder if isinstance(holder, str) and not is_of_now else None
            partition.host.record_observer.settled(partition.key, [fate_of(in_flight, index, member_id, None, why)])

    def _take(self) -> Generator[None, None, None]:
        """Take what is in flight already, then what is new."""
        in_flight = self._in_flight
        number = in_flight.batch_at_or_before(self._first)
        first = self._first
        if number >= 0 and in_flight.batch_lasts[number] >= first:
            first = in_flight.batch_firsts[number]
        behind = None
        # Looked up one by one: batches may be dropped while others are served.
        while found := in_flight.batches_beginning_in(first, self._last):
            first = in_flight.batch_firsts[found[0]] + 1
            behind = in_flight.batch_lasts[found[0]] + 1
            if self._left > 0:
                yield from self._take_batch(found[0])
            if self.pace.add():
                yield
        if behind is None:
            behind = in_flight.end if in_flight.is_empty and in_flight.end > self._first else self._first
        if self._left > 0 and behind <= self._last:
            yield from self._take_new(behind)

    # What is in flight already

    def _take_batch(self, number: int) -> Generator[None, None, None]:
        in_flight, wanted = self._in_flight, self._wanted
        first, last = in_flight.batch_firsts[number], in_flight.batch_lasts[number]
        from_offset = max(first, self._first, in_flight.available_from)
        count = yield from self._max_count(from_offset, min(last, self._last))
        if count is None:
            return
        careful = count >= self._careful_from
        if careful and self._taken:
            self._most = 0  # it is delivered by itself, the next time
            return
        number = in_flight.batch_at_or_before(first)
        whole = first >= self._first and last <= self._last and not in_flight.split[number]
        if whole and not careful and not (wanted.exactly and last - first + 1 > self._left):
            self._hold(in_flight.ranges_between(first, last).start)
            return
        in_flight.split[number] = True
        before = self._taken
        yield from self._take_pieces(from_offset, min(last, self._last), last - first + 1)
        if careful and self._taken > before:
            self._most = 0

    def _max_count(self, first: int, last: int) -> Generator[None, None, int | None]:
        """Return the highest delivery count of what is available between two offsets, or None if nothing is."""
        in_flight, highest = self._in_flight, None
        for part in in_flight.slices(first, last):
            for index in part:
                if self._may_be_had(index) and (highest is None or in_flight.counts[index] > highest):
                    highest = in_flight.counts[index]
            if in_flight.lasts[part[-1]] < last and self.pace.add(len(part)):
                yield
        return highest

    def _may_be_had(self, index: int) -> bool:
        return self._in_flight.states[index] == AVAILABLE and self._in_flight.holders[index] is None

    def _take_pieces(self, first: int, last: int, size: int) -> Generator[None, None, None]:
        """Take records one by one, from a batch of `size`. Source: Kafka's `acquireSubsetBatchRecords`."""
        in_flight = self._in_flight
        left, taken, careful_most = self._left, 0, None
        at = first
        while at <= last:
            if self.pace.add():
                yield
            index = in_flight.ranges_between(at, last).start
            if index == len(in_flight.firsts) or in_flight.firsts[index] > last:
                break
            begin, end = max(in_flight.firsts[index], at), min(in_flight.lasts[index], last)
            at = end + 1
            if not self._may_be_had(index):
                continue
            count = in_flight.counts[index]
            alone = self._limit > FEW_DELIVERIES and count == self._limit - 1
            if alone and taken:
                break
            if count >= self._careful_from and careful_most is None:
                careful_most = max(1, size >> (count - self._careful_from + 1))
            most = 1 if alone else end - begin + 1
            if self._wanted.exactly:
                most = min(most, left - taken)
            if careful_most is not None and taken < careful_most:
                most = min(most, careful_most - taken)
            most = min(most, end - begin + 1)
            if (begin, begin + most - 1) != (in_flight.firsts[index], in_flight.lasts[index]):
                (index,) = in_flight.carve(begin, begin + most - 1)
            self._hold(index, joins=taken > 0)
            taken += most
            if alone or taken == careful_most or (self._wanted.exactly and taken == left):
                break
        yield from in_flight.join_between(first, min(at, last), self.pace)

    def _hold(self, index: int, *, joins: bool = False) -> None:
        """A range is the member's, once more. `joins`: it is of the batch of the last entry, and may be one with it."""
        in_flight = self._in_flight
        first, last = in_flight.firsts[index], in_flight.lasts[index]
        count = min(in_flight.counts[index] + 1, MOST_DELIVERIES)
        in_flight.change(index, ACQUIRED, count, self._wanted.member_id, self.until_ms)
        _put(self.entries, Acquired(first, last, count), joins=joins)
        if self._news is not None:
            _put(self._news, Acquired(first, last, count), joins=joins)
        self._taken += last - first + 1

    # What is new

    def _take_new(self, first: int) -> Generator[None, None, None]:
        """Take what lies behind all that is in flight. Source: Kafka's `acquireNewBatchRecords`."""
        in_flight = self._in_flight
        last = self._last
        if self._left < last - first + 1:
            last = in_flight.free_until(first, self._end_of_batch_with(first + self._left - 1))
        old_start = in_flight.start
        if in_flight.is_empty and first > old_start:
            in_flight.start = first
            self._partition.host.record_observer.start_moved(self._partition.key, old_start, first)
        if self._wanted.exactly:
            held = min(last, first + self._left - 1)
            in_flight.add(first, last, AVAILABLE, 0, None)
            in_flight.end = max(in_flight.end, last)
            (index,) = in_flight.carve(first, held)
            self._hold(index)
            return
        for begin, end in self._entries_of(first, last):
            in_flight.add(begin, end, ACQUIRED, 1, self._wanted.member_id, self.until_ms)
            in_flight.end = max(in_flight.end, end)
            self.entries.append(Acquired(begin, end, 1))
            if self._news is not None:
                self._news.append(Acquired(begin, end, 1))
            self._taken += end - begin + 1
            if self.pace.add():
                yield

    def _end_of_batch_with(self, offset: int) -> int:
        """The last offset of the batch that was read and holds `offset`; that itself, if there is none."""
        for batch in self._read:
            if batch.first_offset <= offset <= batch.last_offset:
                return batch.last_offset
        return offset

    def _entries_of(self, first: int, last: int) -> list[tuple[int, int]]:
        """Where the answer begins a new entry: where a batch begins, and the entry before has its size."""
        entries, begin, size = [], first, max(self._wanted.batch_size, 1)
        for batch in self._read:
            if batch.first_offset > last:
                break
            if batch.first_offset - begin >= size:
                entries.append((begin, batch.first_offset - 1))
                begin = batch.first_offset
        return [*entries, (begin, last)]


def _put(entries: list[Acquired], entry: Acquired, *, joins: bool) -> None:
    """Add an entry. `joins`: it is of the batch of the entry before it, and becomes one with it if they are alike."""
    if joins and entries:
        previous = entries[-1]
        if (previous.last_offset + 1, previous.delivery_count) == (entry.first_offset, entry.delivery_count):
            entry = entries.pop()._replace(last_offset=entry.last_offset)
    entries.append(entry)


def _without(
    entries: Sequence[Acquired], gone: Sequence[LogBatch], pace: Pace
) -> Generator[None, None, list[Acquired]]:
    """Return what is left of the entries without some batches; both are in the order of their offsets."""
    left, number = [], 0
    for entry in entries:
        first = entry.first_offset
        while number < len(gone) and gone[number].last_offset < first:
            number += 1
        at = number
        while at < len(gone) and gone[at].first_offset <= entry.last_offset:
            if gone[at].first_offset > first:
                left.append(entry._replace(first_offset=first, last_offset=gone[at].first_offset - 1))
            first = gone[at].last_offset + 1
            at += 1
            if pace.add():
                yield
        if first <= entry.last_offset:
            left.append(entry._replace(first_offset=first))
        if pace.add():
            yield
    return left
