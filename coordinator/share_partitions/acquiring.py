"""Acquisition of records: which of the records that were read a member receives.

Batches in the log and in-flight batches can differ: they overlap after a restart, or when few records are acquired at a
time. Source: Kafka's `SharePartition.acquire`, with the same order and limits; share-groups §11.
"""

from collections.abc import Generator, Sequence
from typing import Final, NamedTuple

from kohort.coordinator.at_once import at_once
from kohort.coordinator.pace import Pace
from kohort.coordinator.share_partitions.record_observer import ABORTED, COMPACTED, UNOBSERVED, fate_of
from kohort.coordinator.share_partitions.record_states import ACQUIRED, ARCHIVED, AVAILABLE
from kohort.coordinator.share_partitions.share_partition import MAX_DELIVERIES, Progress, SharePartition

# Deliveries after which a record can be delivered in smaller pieces. If no more are allowed, no record is delivered
# alone.
FEW_DELIVERIES: Final = 2


class LogBatch(NamedTuple):
    """First and last offset of a record batch that was read."""

    first_offset: int
    last_offset: int


class AbortedBatchNotInFlight(Exception):
    """An aborted batch that begins before all in-flight ones: its records are acquired, but the fetch fails."""


class AcquireRequest(NamedTuple):
    """Limits of a member's fetch."""

    member_id: str
    max_records: int
    # Records per entry of the response. Less than one counts as one, so that each batch has its own entry; Kafka adds
    # an entry then that ends before its first offset.
    batch_size: int
    # Whether `max_records` is a hard limit (KIP-1206: record-limit). Otherwise the last batch is acquired to its end.
    exactly: bool = False


class Acquired(NamedTuple):
    """Entry of the response: acquired offsets and their delivery count, including this delivery."""

    first_offset: int
    last_offset: int
    delivery_count: int


def acquiring(
    partition: SharePartition,
    request: AcquireRequest,
    fetch_offset: int,
    read: Sequence[LogBatch],
    aborted: Sequence[LogBatch],
    now_ms: int,
) -> Generator[None, None, list[Acquired]]:
    """Acquire the available records among the batches read from `fetch_offset` on.

    Yield so that other requests are served. Meanwhile no other member may acquire records of the share partition; see
    `is_acquired_from`.

    Args:
        aborted: Batches of aborted transactions among those read, if the group reads committed records only. They are
            archived, and not delivered.

    Raises:
        AbortedBatchNotInFlight: If the start of the share partition is in the middle of an aborted batch.
    """
    in_flight = partition.in_flight
    if partition.progress is not Progress.ACTIVE or request.max_records <= 0 or not read:
        return []
    if read[-1].last_offset < in_flight.start:
        return []
    max_count, last = _limits(partition, request, fetch_offset, read[-1].last_offset)
    if max_count <= 0:
        return []
    acquisition = _Acquisition(partition, request, read, aborted, last, max_count, now_ms)
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
            partition.schedule_lock_check(acquisition.until_ms)
        partition.is_acquired_from = False
        if partition.has_refused_fetch:
            partition.has_refused_fetch = False
            partition.host.changed(partition, now_ms)
    return entries


def needs_no_more(partition: SharePartition, request: AcquireRequest, read: Sequence[LogBatch]) -> bool:
    """Return whether batches after those read cannot matter to `acquiring`."""
    behind = max(partition.in_flight.end + 1, read[0].first_offset)
    return read[-1].last_offset >= behind + min(request.max_records, partition.config.partition_max_record_locks)


def _limits(partition: SharePartition, request: AcquireRequest, fetch_offset: int, last: int) -> tuple[int, int]:
    """Return how many records may be acquired, and up to which offset.

    At the group's limit of locks, only records that are in flight already may be acquired.
    """
    in_flight = partition.in_flight
    max_count = min(request.max_records, partition.config.partition_max_record_locks - in_flight.count)
    if max_count <= 0 and fetch_offset <= in_flight.end:
        return min(request.max_records, in_flight.end - fetch_offset + 1), min(last, in_flight.end)
    return max_count, last


class _Acquisition:
    """Call of `acquiring`."""

    def __init__(
        self,
        partition: SharePartition,
        request: AcquireRequest,
        read: Sequence[LogBatch],
        aborted: Sequence[LogBatch],
        last: int,
        max_count: int,
        now_ms: int,
    ) -> None:
        self._partition = partition
        self._in_flight = partition.in_flight
        self._request = request
        self._read = read
        self._aborted = aborted
        self._first, self._last = read[0].first_offset, last
        self._max_records = max_count  # 0: stop here
        self._limit = partition.config.delivery_count_limit
        # records with this delivery count are delivered in smaller pieces, to isolate a bad record
        self._careful_from_count = max(FEW_DELIVERIES, (self._limit + 1) // 2)
        self.until_ms = partition.lock_expiry_ms(now_ms)  # expiry of the acquisition locks
        self.pace = Pace()
        self.entries: list[Acquired] = []
        self._acquired_count = 0
        # acquired records that were not reported to the observer; None: it is not interested
        self._unreported: list[Acquired] | None = None if partition.host.record_observer is UNOBSERVED else []

    @property
    def _remaining(self) -> int:
        return self._max_records - self._acquired_count

    def steps(self, fetch_offset: int) -> Generator[None, None, None]:
        yield from self._archive_removed(fetch_offset)
        yield from self._take()
        yield from self._archive_aborted()

    def report(self) -> None:
        if self._unreported:
            entries = at_once(_without(self._unreported, self._aborted, Pace())) if self._aborted else self._unreported
            if entries:
                self._partition.host.record_observer.acquired(self._partition.key, self._request.member_id, entries)
            self._unreported = []

    def _archive_removed(self, fetch_offset: int) -> Generator[None, None, None]:
        in_flight = self._in_flight
        for part in in_flight.slices(fetch_offset, self._first - 1, cut=True):
            for index in part:
                if in_flight.states[index] == AVAILABLE and in_flight.holders[index] is None:
                    self._archive(index, COMPACTED)
            if self.pace.add(len(part)):
                yield

    def _archive_aborted(self) -> Generator[None, None, None]:
        in_flight = self._in_flight
        if self._aborted and self.entries and in_flight.batch_at_or_before(self._aborted[0].first_offset) < 0:
            self._aborted = ()  # its records stay acquired
            raise AbortedBatchNotInFlight
        for batch in self._aborted:
            for part in in_flight.slices(batch.first_offset, batch.last_offset, cut=True):
                for index in part:
                    if isinstance(in_flight.holders[index], str):
                        self._archive(index, ABORTED)
                in_flight.join(part.start, part.stop)
                if self.pace.add(len(part)):
                    yield

    def _archive(self, index: int, reason: str) -> None:
        partition, in_flight = self._partition, self._in_flight
        holder, until_ms = in_flight.holders[index], in_flight.locked_until[index]
        in_flight.change(index, ARCHIVED, in_flight.counts[index], None)
        if partition.host.record_observer is not UNOBSERVED:
            is_of_this_request = holder == self._request.member_id and until_ms == self.until_ms
            member_id = holder if isinstance(holder, str) and not is_of_this_request else None
            partition.host.record_observer.settled(partition.key, [fate_of(in_flight, index, member_id, None, reason)])

    def _take(self) -> Generator[None, None, None]:
        in_flight = self._in_flight
        number = in_flight.batch_at_or_before(self._first)
        first = self._first
        if number >= 0 and in_flight.batch_lasts[number] >= first:
            first = in_flight.batch_firsts[number]
        behind = None
        # Looked up one by one: batches may be dropped while other requests are served.
        while numbers := in_flight.batches_beginning_in(first, self._last):
            first = in_flight.batch_firsts[numbers[0]] + 1
            behind = in_flight.batch_lasts[numbers[0]] + 1
            if self._remaining > 0:
                yield from self._take_batch(numbers[0])
            if self.pace.add():
                yield
        if behind is None:
            behind = in_flight.end if in_flight.is_empty and in_flight.end > self._first else self._first
        if self._remaining > 0 and behind <= self._last:
            yield from self._take_new(behind)

    # In-flight batches

    def _take_batch(self, number: int) -> Generator[None, None, None]:
        in_flight, request = self._in_flight, self._request
        first, last = in_flight.batch_firsts[number], in_flight.batch_lasts[number]
        from_offset = max(first, self._first, in_flight.available_from)
        count = yield from self._max_count(from_offset, min(last, self._last))
        if count is None:
            return
        is_careful = count >= self._careful_from_count
        if is_careful and self._acquired_count:
            self._max_records = 0  # the next fetch delivers it alone
            return
        number = in_flight.batch_at_or_before(first)
        is_whole = first >= self._first and last <= self._last and not in_flight.split[number]
        if is_whole and not is_careful and not (request.exactly and last - first + 1 > self._remaining):
            self._hold(in_flight.ranges_between(first, last).start)
            return
        in_flight.split[number] = True
        count_before = self._acquired_count
        yield from self._take_pieces(from_offset, min(last, self._last), last - first + 1)
        if is_careful and self._acquired_count > count_before:
            self._max_records = 0

    def _max_count(self, first: int, last: int) -> Generator[None, None, int | None]:
        in_flight, highest = self._in_flight, None
        for part in in_flight.slices(first, last):
            for index in part:
                if self._is_available(index) and (highest is None or in_flight.counts[index] > highest):
                    highest = in_flight.counts[index]
            if in_flight.lasts[part[-1]] < last and self.pace.add(len(part)):
                yield
        return highest

    def _is_available(self, index: int) -> bool:
        return self._in_flight.states[index] == AVAILABLE and self._in_flight.holders[index] is None

    def _take_pieces(self, first: int, last: int, size: int) -> Generator[None, None, None]:
        """Acquire records one by one from a batch of `size`. Source: Kafka's `acquireSubsetBatchRecords`."""
        in_flight = self._in_flight
        max_records, acquired_count, careful_max = self._remaining, 0, None
        at = first
        while at <= last:
            if self.pace.add():
                yield
            index = in_flight.ranges_between(at, last).start
            if index == len(in_flight.firsts) or in_flight.firsts[index] > last:
                break
            begin, end = max(in_flight.firsts[index], at), min(in_flight.lasts[index], last)
            at = end + 1
            if not self._is_available(index):
                continue
            count = in_flight.counts[index]
            is_alone = self._limit > FEW_DELIVERIES and count == self._limit - 1
            if is_alone and acquired_count:
                break
            if count >= self._careful_from_count and careful_max is None:
                careful_max = max(1, size >> (count - self._careful_from_count + 1))
            piece_size = 1 if is_alone else end - begin + 1
            if self._request.exactly:
                piece_size = min(piece_size, max_records - acquired_count)
            if careful_max is not None and acquired_count < careful_max:
                piece_size = min(piece_size, careful_max - acquired_count)
            piece_size = min(piece_size, end - begin + 1)
            if (begin, begin + piece_size - 1) != (in_flight.firsts[index], in_flight.lasts[index]):
                (index,) = in_flight.carve(begin, begin + piece_size - 1)
            self._hold(index, joins=acquired_count > 0)
            acquired_count += piece_size
            if is_alone or acquired_count == careful_max or (self._request.exactly and acquired_count == max_records):
                break
        yield from in_flight.join_between(first, min(at, last), self.pace)

    def _hold(self, index: int, *, joins: bool = False) -> None:
        in_flight = self._in_flight
        first, last = in_flight.firsts[index], in_flight.lasts[index]
        count = min(in_flight.counts[index] + 1, MAX_DELIVERIES)
        in_flight.change(index, ACQUIRED, count, self._request.member_id, self.until_ms)
        _put(self.entries, Acquired(first, last, count), joins=joins)
        if self._unreported is not None:
            _put(self._unreported, Acquired(first, last, count), joins=joins)
        self._acquired_count += last - first + 1

    # New batches

    def _take_new(self, first: int) -> Generator[None, None, None]:
        """Acquire records after all in-flight batches. Source: Kafka's `acquireNewBatchRecords`."""
        in_flight = self._in_flight
        last = self._last
        if self._remaining < last - first + 1:
            last = in_flight.free_until(first, self._end_of_batch_with(first + self._remaining - 1))
        old_start = in_flight.start
        if in_flight.is_empty and first > old_start:
            in_flight.start = first
            self._partition.host.record_observer.start_moved(self._partition.key, old_start, first)
        if self._request.exactly:
            last_acquired = min(last, first + self._remaining - 1)
            in_flight.add(first, last, AVAILABLE, 0, None)
            in_flight.end = max(in_flight.end, last)
            (index,) = in_flight.carve(first, last_acquired)
            self._hold(index)
            return
        for begin, end in self._entries_of(first, last):
            in_flight.add(begin, end, ACQUIRED, 1, self._request.member_id, self.until_ms)
            in_flight.end = max(in_flight.end, end)
            self.entries.append(Acquired(begin, end, 1))
            if self._unreported is not None:
                self._unreported.append(Acquired(begin, end, 1))
            self._acquired_count += end - begin + 1
            if self.pace.add():
                yield

    def _end_of_batch_with(self, offset: int) -> int:
        """Return the last offset of the batch with `offset`, or `offset` if no batch that was read has it."""
        for batch in self._read:
            if batch.first_offset <= offset <= batch.last_offset:
                return batch.last_offset
        return offset

    def _entries_of(self, first: int, last: int) -> list[tuple[int, int]]:
        """Divide offsets into entries of the response. An entry ends with the first batch that fills it."""
        entries, begin, size = [], first, max(self._request.batch_size, 1)
        for batch in self._read:
            if batch.first_offset > last:
                break
            if batch.first_offset - begin >= size:
                entries.append((begin, batch.first_offset - 1))
                begin = batch.first_offset
        return [*entries, (begin, last)]


def _put(entries: list[Acquired], entry: Acquired, *, joins: bool) -> None:
    if joins and entries:
        previous = entries[-1]
        if (previous.last_offset + 1, previous.delivery_count) == (entry.first_offset, entry.delivery_count):
            entry = entries.pop()._replace(last_offset=entry.last_offset)
    entries.append(entry)


def _without(
    entries: Sequence[Acquired], removed: Sequence[LogBatch], pace: Pace
) -> Generator[None, None, list[Acquired]]:
    """Return the parts of the entries that are not in the given batches; both are sorted by offset."""
    remaining, number = [], 0
    for entry in entries:
        first = entry.first_offset
        while number < len(removed) and removed[number].last_offset < first:
            number += 1
        at = number
        while at < len(removed) and removed[at].first_offset <= entry.last_offset:
            if removed[at].first_offset > first:
                remaining.append(entry._replace(first_offset=first, last_offset=removed[at].first_offset - 1))
            first = removed[at].last_offset + 1
            at += 1
            if pace.add():
                yield
        if first <= entry.last_offset:
            remaining.append(entry._replace(first_offset=first))
        if pace.add():
            yield
    return remaining
