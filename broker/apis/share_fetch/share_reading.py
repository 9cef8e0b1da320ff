"""The partitions of a share fetch: which may be read, how much there is, and what its member acquires of them.

Source: Kafka's `DelayedShareFetch`, `ShareFetchUtils`; share-groups §8.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from kohort.broker.apis.share_fetch.read_batches import ReadBatches
from kohort.coordinator.pace import Pace
from kohort.coordinator.share_partitions.acquiring import Wanted, acquiring, needs_no_more
from kohort.coordinator.share_partitions.share_partition import Progress
from kohort.protocol.errors import ErrorCode
from kohort.security.rights import READ_TOPIC
from kohort.storage.transactions import before

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from uuid import UUID

    from kohort.broker.cluster.node import Node
    from kohort.broker.scheduling.cooperative import Task
    from kohort.broker.ticket import Ticket
    from kohort.coordinator.share_partitions.acquiring import Acquired
    from kohort.coordinator.share_partitions.share_partition import SharePartition
    from kohort.protocol.messages.share_fetch import ShareFetchRequest
    from kohort.storage.segment import Chunk
    from kohort.storage.topic import Partition, Topic

    Which = tuple[UUID | None, int]

_NONE: Final = ErrorCode.none
READ_COMMITTED: Final = "read_committed"
BATCH_OPTIMIZED, RECORD_LIMIT = 0, 1
ACQUIRE_MODES: Final = (BATCH_OPTIMIZED, RECORD_LIMIT)
"""KIP-1206."""

SHORT: Final = 32

COSTLY: Final = 6
"""Reading the log of a partition counts as this many elements."""


class ReadPartition:
    """A partition of a share fetch, and what came of it."""

    __slots__ = (
        "_measured",
        "acquired",
        "error",
        "is_new",
        "partition",
        "records",
        "share_partition",
        "topic",
        "which",
    )

    def __init__(self, which: Which, topic: Topic | None, partition: Partition | None, error: ErrorCode) -> None:
        self.which = which
        self.topic = topic
        self.partition = partition
        self.error = error
        """Why it is not read; NONE: it is."""
        self.share_partition: SharePartition | None = None
        self.is_new = False
        """Whether this fetch is the first one that asks for its state."""
        self.acquired: list[Acquired] | None = None
        """What its member holds of it now; None: it was not read."""
        self.records: list[Chunk] = []
        self._measured = (-1, 0, 0)
        """The offset from which bytes were counted, how large the log was then, and how many there were."""

    @property
    def has_result(self) -> bool:
        """Whether there is anything to say of it."""
        return self.error is not _NONE or self.acquired is not None

    def bytes_from(self, offset: int, end: int, most: int) -> int:
        """About how many bytes there are to read. They are counted once, and again only from another offset."""
        assert self.partition is not None
        log = self.partition.log
        if not log.log_start_offset <= offset < end:
            return 0
        counted_from, size_then, bytes_then = self._measured
        grown = log.size_bytes - size_then
        if counted_from != offset or grown < 0 or end != log.log_end_offset:
            found = sum(map(len, before(log.read_segment(offset, most, at_least_one=True)[0], end)))
            self._measured = offset, log.size_bytes, found
            return found
        return bytes_then + grown


class ShareReading:
    """What a fetch asks for, and what it was given."""

    def __init__(self, node: Node, request: ShareFetchRequest, ticket: Ticket, group_id: str, member_id: str) -> None:
        self._node = node
        self._ticket = ticket
        self._group_id = group_id
        cluster = node.cluster
        self._max_bytes = min(request.max_bytes, cluster.settings.fetch_max_bytes)
        self._min_bytes = min(request.min_bytes, self._max_bytes)
        self._exactly = request.share_acquire_mode == RECORD_LIMIT
        self._wanted = Wanted(member_id, request.max_records, request.batch_size, self._exactly)
        self._config = cluster.group_configs.share_config(group_id)
        self.partitions: list[ReadPartition] = []
        self.knows_all_topics = True
        """Whether the ids of all topics mean something."""

    def look_up(self, partitions: Iterable[Which], now_ms: int, pace: Pace) -> Task[None]:
        """Find out what partitions mean; share partitions nobody has fetched from yet begin."""
        for which in partitions:
            found = self._find(which)
            if found is not None:
                if found.error is _NONE:
                    self._begin(found, now_ms)
                self.partitions.append(found)
            if pace.add():
                yield

    def look_up_errors(self, partitions: Iterable[Which], pace: Pace) -> Task[None]:
        """Find out what is wrong with partitions that are not to be read."""
        for which in partitions:
            found = self._find(which)
            if found is not None and found.error is not _NONE:
                self.partitions.append(found)
            if pace.add():
                yield

    def _find(self, which: Which) -> ReadPartition | None:
        """Return the partition with what is wrong with it, or None if there is no such topic."""
        topic = self._node.cluster.topics.by_id(which[0])
        if topic is None:
            self.knows_all_topics = False
            return None
        partition = topic.partition(which[1])
        return ReadPartition(which, topic, partition, self._error_of(topic, partition))

    def _error_of(self, topic: Topic, partition: Partition | None) -> ErrorCode:
        access = self._node.cluster.access
        if access is not None and not access.allows(self._ticket, READ_TOPIC, topic.name):
            return ErrorCode.topic_authorization_failed
        if partition is None:
            return ErrorCode.unknown_topic_or_partition
        return _NONE if partition.leader == self._node.id else ErrorCode.not_leader_or_follower

    def _begin(self, found: ReadPartition, now_ms: int) -> None:
        assert found.topic is not None
        assert found.partition is not None
        led = self._node.led_share_partitions
        found.share_partition, found.is_new = led.get(self._group_id, found.topic, found.partition, now_ms)

    @property
    def has_only_errors(self) -> bool:
        """Whether nothing is left to wait for."""
        return all(each.error is not _NONE for each in self.partitions)

    def keys(self) -> list[object]:
        """What is announced under itself when there may be more to read."""
        readable = [each for each in self.partitions if each.error is _NONE]
        return [each.partition for each in readable] + [each.share_partition for each in readable]

    def next_known(self) -> Iterator[ReadPartition]:
        """Share partitions that this fetch begins become known one after the other, as Kafka reads their states.

        A fetch that does not wait, or finds enough before, does without them (seen in Kafka 4.3.0).
        """
        for each in self.partitions:
            if each.is_new:
                each.is_new = False
                yield each

    def may_be_enough(self, each: ReadPartition) -> bool:
        """Whether it is worth trying now that a share partition is known: it has records, or MinBytes wants none."""
        offset = self._next_offset(each) if each.error is _NONE else None
        if offset is None or each.partition is None:
            return False
        return self._min_bytes <= 0 or offset < self._end_of(each.partition)

    @property
    def is_short(self) -> bool:
        """Whether it may be tried again for each of its partitions."""
        return len(self.partitions) <= SHORT

    def attempt(self, now_ms: int, *, final: bool) -> Task[bool]:
        """Acquire what there is, if there is enough or time is up. Return whether that is the end of it.

        Yields where others may be served.
        """
        failed, pace = False, Pace()
        ready = []
        for each in self.partitions:
            if each.error is _NONE:
                failed = self._has_lost(each) or failed
            if each.error is _NONE and (offset := self._next_offset(each)) is not None:
                ready.append((each, offset))
            if pace.add():
                yield
        if not final and not failed and not (yield from self._is_enough(ready, pace)):
            return False
        yield from self._read([each for each, _ in ready], now_ms, pace)
        if final:
            yield from self._report_problems(pace)
        return True

    def _report_problems(self, pace: Pace) -> Task[None]:
        """Report share partitions that could not be begun when time is up, as Kafka 4.3.0 does (observed)."""
        for each in self.partitions:
            if pace.add():
                yield
            if each.share_partition is not None and not each.is_new and each.share_partition.problem is not None:
                each.error = each.share_partition.problem

    def _has_lost(self, each: ReadPartition) -> bool:
        """Whether this node leads a partition no more."""
        assert each.partition is not None
        assert each.topic is not None
        if self._node.cluster.topics.by_id(each.topic.topic_id) is not each.topic:
            each.error = ErrorCode.unknown_topic_or_partition
            self.knows_all_topics = False
        elif each.partition.leader != self._node.id:
            each.error = ErrorCode.not_leader_or_follower
        return each.error is not _NONE

    @staticmethod
    def _next_offset(each: ReadPartition) -> int | None:
        """Where it is read next; None: nothing can be acquired of it now."""
        found = each.share_partition
        if found is None or each.is_new or found.progress is not Progress.ACTIVE:
            return None
        if found.is_acquired_from:
            found.has_refused_fetch = True
            return None
        if not found.has_room:
            return None
        return found.next_fetch_offset

    def _end_of(self, partition: Partition) -> int:
        committed = self._config.isolation_level == READ_COMMITTED
        return partition.last_stable_offset if committed else partition.log.high_watermark

    def _is_enough(self, ready: list[tuple[ReadPartition, int]], pace: Pace) -> Task[bool]:
        available = 0
        most = self._share_of_each(len(ready))
        for each, offset in ready:
            assert each.partition is not None
            if offset < each.partition.log.log_start_offset:
                return True  # which is found out by reading
            end = self._end_of(each.partition)
            if offset < end:
                if self._min_bytes <= 1 or each.partition.log.is_in_older_segment(offset, end):
                    return True
                available += min(each.bytes_from(offset, end, most), most)
            if pace.add(COSTLY):
                yield
        return bool(ready) and available >= self._min_bytes

    def _share_of_each(self, count: int) -> int:
        return max(self._max_bytes // max(count, 1), 1)

    def _read(self, ready: list[ReadPartition], now_ms: int, pace: Pace) -> Task[None]:
        room, most, max_records = self._max_bytes, self._share_of_each(len(ready)), self._wanted.max_records
        read_any = False
        for each in ready:
            if pace.add(COSTLY):
                yield
            offset = self._next_offset(each)
            share_partition = each.share_partition
            if offset is None or share_partition is None:
                continue  # another member has acquired it in between
            each.acquired = []
            wanted = self._wanted._replace(max_records=max_records)
            read = yield from self._batches(each, share_partition, offset, min(most, room), not read_any, wanted, pace)
            if read is None or self._next_offset(each) != offset:
                continue
            read_any = True
            room = max(room - read.size_bytes, 0)
            max_records -= yield from self._acquire(each, share_partition, offset, read, wanted, now_ms)

    def _batches(
        self,
        each: ReadPartition,
        share_partition: SharePartition,
        offset: int,
        most: int,
        at_least_one: bool,
        wanted: Wanted,
        pace: Pace,
    ) -> Task[ReadBatches | None]:
        """Read the log. If it starts later, the share partition's start is moved, and nothing is read."""
        assert each.partition is not None
        assert each.topic is not None
        log = each.partition.log
        if offset < log.log_start_offset:
            yield from share_partition.log_starts_at(log.log_start_offset)
            return None
        end = self._end_of(each.partition)
        if offset >= end or (not most and not at_least_one):
            return None
        try:
            chunks = log.read_segment(offset, most, at_least_one=at_least_one)[0]
        except OSError as problem:
            name = f"reading partition {each.partition.index} of {each.topic.name}"
            self._node.cluster.storage_failed(name, problem)
            each.error = ErrorCode.kafka_storage_error
            return None
        read = ReadBatches()
        whole = end == log.log_end_offset
        yield from read.read(chunks, None if whole else end, partial(needs_no_more, share_partition, wanted), pace)
        return read if read.batches else None

    def _acquire(
        self,
        each: ReadPartition,
        share_partition: SharePartition,
        offset: int,
        read: ReadBatches,
        wanted: Wanted,
        now_ms: int,
    ) -> Task[int]:
        """Return how many records were acquired."""
        assert each.partition is not None
        producers = each.partition.producers
        aborted = []
        if self._config.isolation_level == READ_COMMITTED and producers is not None:
            end = read.batches[-1].last_offset + 1
            aborted = read.aborted(producers.transactions.aborted_in(offset, end))
        each.acquired = yield from acquiring(share_partition, wanted, offset, read.batches, aborted, now_ms)
        each.records = read.part(each.acquired)
        return sum([entry.last_offset - entry.first_offset + 1 for entry in each.acquired])
