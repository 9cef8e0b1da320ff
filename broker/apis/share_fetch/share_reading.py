"""The partitions of a share fetch: lookup, available bytes and acquisition of records.

Source: Kafka's `DelayedShareFetch`, `ShareFetchUtils`; share-groups §8.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from kohort.broker.apis.share_fetch.read_batches import ReadBatches
from kohort.coordinator.pace import Pace
from kohort.coordinator.share_partitions.acquiring import (
    AbortedBatchNotInFlight,
    AcquireRequest,
    acquiring,
    needs_no_more,
)
from kohort.coordinator.share_partitions.share_partition import Progress
from kohort.protocol.errors import ErrorCode
from kohort.security.rights import READ_TOPIC
from kohort.storage.transactions import chunks_before

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from uuid import UUID

    from kohort.broker.cluster.node import Node
    from kohort.broker.cluster.share_fetch_sessions import ShareSession
    from kohort.broker.scheduling.cooperative import Task
    from kohort.broker.ticket import Ticket
    from kohort.coordinator.share_partitions.acquiring import Acquired
    from kohort.coordinator.share_partitions.share_partition import SharePartition
    from kohort.protocol.messages.share_fetch import ShareFetchRequest
    from kohort.storage.segment import Chunk
    from kohort.storage.topic import Partition, Topic

    TopicIdPartition = tuple[UUID | None, int]

_NONE: Final = ErrorCode.none
READ_COMMITTED: Final = "read_committed"
BATCH_OPTIMIZED, RECORD_LIMIT = 0, 1
ACQUIRE_MODES: Final = (BATCH_OPTIMIZED, RECORD_LIMIT)  # KIP-1206

SHORT: Final = 32

# results of the lookup with which Kafka passes a partition to its `SharePartitionManager`
PASSED_TO_LEADER: Final = (_NONE, ErrorCode.not_leader_or_follower)

COSTLY: Final = 6  # cost of reading the log of a partition, in elements of a slice


class ReadPartition:
    """A partition of a share fetch, and its result."""

    __slots__ = (
        "_measured",
        "acquired",
        "error",
        "is_new",
        "partition",
        "records",
        "share_partition",
        "topic",
        "topic_partition",
    )

    def __init__(
        self, topic_partition: TopicIdPartition, topic: Topic | None, partition: Partition | None, error: ErrorCode
    ) -> None:
        self.topic_partition = topic_partition
        self.topic = topic
        self.partition = partition
        self.error = error  # NONE if the partition is read
        self.share_partition: SharePartition | None = None
        self.is_new = False  # whether this fetch is the first one that needs its state
        # records acquired by this fetch, or None if the partition was not read
        self.acquired: list[Acquired] | None = None
        self.records: list[Chunk] = []
        # Offset from which bytes were counted, size of the log at that time, and number of bytes.
        self._measured = (-1, 0, 0)

    @property
    def has_result(self) -> bool:
        """Whether the partition can be in the response."""
        return self.error is not _NONE or self.acquired is not None

    def bytes_from(self, offset: int, end: int, max_bytes: int) -> int:
        """Estimate the number of bytes to read. They are counted once, and again only if the offset changes."""
        assert self.partition is not None
        log = self.partition.log
        if not log.log_start_offset <= offset < end:
            return 0
        counted_from, size_then, bytes_then = self._measured
        grown = log.size_bytes - size_then
        if counted_from != offset or grown < 0 or end != log.log_end_offset:
            counted_bytes = sum(map(len, chunks_before(log.read_segment(offset, max_bytes, at_least_one=True)[0], end)))
            self._measured = offset, log.size_bytes, counted_bytes
            return counted_bytes
        return bytes_then + grown


class ShareReading:
    """Partitions of a share fetch, and the result of the last attempt."""

    def __init__(self, node: Node, request: ShareFetchRequest, ticket: Ticket, session: ShareSession) -> None:
        self._node = node
        self._ticket = ticket
        self._session = session
        self._group_id = session.group_id
        cluster = node.cluster
        self._max_bytes = min(request.max_bytes, cluster.settings.fetch_max_bytes)
        self._min_bytes = min(request.min_bytes, self._max_bytes)
        self._exactly = request.share_acquire_mode == RECORD_LIMIT
        self._limits = AcquireRequest(session.member_id, request.max_records, request.batch_size, self._exactly)
        self._config = cluster.group_configs.share_config(session.group_id)
        self.partitions: list[ReadPartition] = []
        # Whether all topic ids are known. As of Kafka 4.4, an unknown one is only an error of its partitions.
        self.knows_all_topics = True
        self._fails_alone = node.coordinator.settings.rules.fails_share_partitions_alone

    def look_up(self, partitions: Iterable[TopicIdPartition], epoch: int, now_ms: int, pace: Pace) -> Task[None]:
        """Look up partitions. New share partitions are initialized.

        The first one to be read is another one in each epoch of the session. Partitions that do not exist or that the
        client may not read do not count. Source: Kafka's `KafkaApis`, `PartitionRotateStrategy`.
        """
        readable: list[ReadPartition] = []
        for topic_partition in partitions:
            part = self._find(topic_partition)
            if part is not None:
                (readable if part.error in PASSED_TO_LEADER else self.partitions).append(part)
            if pace.add():
                yield
        first = (epoch - 1) % len(readable) if readable else 0
        for part in readable[first:] + readable[:first]:
            if part.error is _NONE:
                self._begin(part, now_ms)
            self.partitions.append(part)
            if pace.add():
                yield

    def look_up_errors(self, partitions: Iterable[TopicIdPartition], pace: Pace) -> Task[None]:
        """Look up partitions that are not read, for their errors."""
        for topic_partition in partitions:
            part = self._find(topic_partition)
            if part is not None and part.error is not _NONE:
                self.partitions.append(part)
            if pace.add():
                yield

    def _find(self, topic_partition: TopicIdPartition) -> ReadPartition | None:
        """Return the partition with its error, if any, or None if the topic id is unknown."""
        topic = self._node.cluster.topics.by_id(topic_partition[0])
        if topic is None:
            if self._fails_alone:
                never_existed = topic_partition in self._session.without_topic
                error = ErrorCode.unknown_topic_id if never_existed else ErrorCode.unknown_topic_or_partition
                return ReadPartition(topic_partition, None, None, error)
            self.knows_all_topics = False
            return None
        partition = topic.partition(topic_partition[1])
        return ReadPartition(topic_partition, topic, partition, self._error_of(topic, partition))

    def _error_of(self, topic: Topic, partition: Partition | None) -> ErrorCode:
        access = self._node.cluster.access
        if access is not None and not access.allows(self._ticket, READ_TOPIC, topic.name):
            return ErrorCode.topic_authorization_failed
        if partition is None:
            return ErrorCode.unknown_topic_or_partition
        return _NONE if partition.leader == self._node.id else ErrorCode.not_leader_or_follower

    def _begin(self, part: ReadPartition, now_ms: int) -> None:
        assert part.topic is not None
        assert part.partition is not None
        led = self._node.led_share_partitions
        part.share_partition, part.is_new = led.get(self._group_id, part.topic, part.partition, now_ms)

    @property
    def has_only_errors(self) -> bool:
        """Whether no partition can get records."""
        return all(part.error is not _NONE for part in self.partitions)

    def keys(self) -> list[object]:
        """Return the keys under which appends and released records check waiting operations."""
        readable = [part for part in self.partitions if part.error is _NONE]
        return [part.partition for part in readable] + [part.share_partition for part in readable]

    def next_known(self) -> Iterator[ReadPartition]:
        """Yield the share partitions that this fetch initializes, in the order in which Kafka reads their states.

        A fetch that does not wait, or has enough before, does not wait for them (observed on Kafka 4.3.0).
        """
        for part in self.partitions:
            if part.is_new:
                part.is_new = False
                yield part

    def may_be_enough(self, part: ReadPartition) -> bool:
        """Return whether an attempt could succeed with this share partition: it has records, or MinBytes is 0."""
        offset = self._next_offset(part) if part.error is _NONE else None
        if offset is None or part.partition is None:
            return False
        return self._min_bytes <= 0 or offset < self._end_of(part.partition)

    def pass_over(self, part: ReadPartition) -> None:
        """Note that an attempt would have looked up the next offset of a share partition in the log."""
        offset = self._next_offset(part) if part.error is _NONE else None
        if offset is not None:
            _look_up_offset(part, offset)

    @property
    def is_short(self) -> bool:
        """Whether an attempt for each of its partitions is affordable."""
        return len(self.partitions) <= SHORT

    def attempt(self, now_ms: int, *, final: bool) -> Task[bool]:
        """Acquire records, if there are enough or the time is up. Return whether the fetch is complete.

        Yields between slices. Before the time is up, partitions whose next offset is new come last: Kafka has read
        them to find out whether there are enough records, and puts them behind those that it reads only then.
        Source: Kafka's `DelayedShareFetch.combineLogReadResponse`.
        """
        failed, pace = False, Pace()
        ready = []
        read_before: list[ReadPartition] = []
        read_now: list[ReadPartition] = []
        for part in self.partitions:
            if part.error is _NONE:
                failed = self._has_lost(part) or failed
            if part.error is _NONE and (offset := self._next_offset(part)) is not None:
                ready.append((part, offset))
                (read_now if not final and _look_up_offset(part, offset) else read_before).append(part)
            if pace.add():
                yield
        if not final and not failed and not (yield from self._is_enough(ready, pace)):
            return False
        try:
            yield from self._read((read_before, read_now), now_ms, pace)
        except AbortedBatchNotInFlight:
            self._fail_all(read_before + read_now)
        if final:
            yield from self._report_problems(pace)
        return True

    def _fail_all(self, parts: list[ReadPartition]) -> None:
        """Fail all partitions that are read, as Kafka does. What they acquired stays locked."""
        for part in parts:
            part.error, part.acquired, part.records = ErrorCode.unknown_server_error, None, []
        text = "a fetch failed because its start offset is in the middle of an aborted batch, as in Kafka"
        self._node.cluster.warn(self._group_id, text, group=self._group_id)

    def _report_problems(self, pace: Pace) -> Task[None]:
        """Set the errors of share partitions that could not be initialized, as Kafka does at the deadline (4.3.0)."""
        for part in self.partitions:
            if pace.add():
                yield
            if part.share_partition is not None and not part.is_new and part.share_partition.load_error is not None:
                part.error = part.share_partition.load_error

    def _has_lost(self, part: ReadPartition) -> bool:
        """Return whether this node has lost the leadership of a partition."""
        assert part.partition is not None
        assert part.topic is not None
        if self._node.cluster.topics.by_id(part.topic.topic_id) is not part.topic:
            part.error = ErrorCode.unknown_topic_or_partition
            self.knows_all_topics = self._fails_alone
        elif part.partition.leader != self._node.id:
            part.error = ErrorCode.not_leader_or_follower
        return part.error is not _NONE

    def _next_offset(self, part: ReadPartition) -> int | None:
        """Return the next offset to read, or None if no records can be acquired now."""
        share_partition = part.share_partition
        if share_partition is None or part.is_new or share_partition.progress is not Progress.ACTIVE:
            return None
        if share_partition.is_acquired_from:
            share_partition.has_refused_fetch = True
            return None
        if self._node.led_share_partitions.refuses(self._group_id, self._limits.member_id, share_partition):
            return None
        if not share_partition.has_room:
            return None
        return share_partition.next_fetch_offset

    def _end_of(self, partition: Partition) -> int:
        committed = self._config.isolation_level == READ_COMMITTED
        return partition.last_stable_offset if committed else partition.log.high_watermark

    def _is_enough(self, ready: list[tuple[ReadPartition, int]], pace: Pace) -> Task[bool]:
        available = 0
        max_bytes = self._share_of_each(len(ready))
        for part, offset in ready:
            assert part.partition is not None
            if offset < part.partition.log.log_start_offset:
                return True  # reading moves the start of the share partition
            end = self._end_of(part.partition)
            if offset < end:
                if self._min_bytes <= 1 or part.partition.log.is_in_older_segment(offset, end):
                    return True
                available += min(part.bytes_from(offset, end, max_bytes), max_bytes)
            if pace.add(COSTLY):
                yield
        return bool(ready) and available >= self._min_bytes

    def _share_of_each(self, count: int) -> int:
        return max(self._max_bytes // max(count, 1), 1)

    def _read(self, reads: tuple[list[ReadPartition], ...], now_ms: int, pace: Pace) -> Task[None]:
        """Acquire records in several reads of the log, each of which has the size limit of the request."""
        max_bytes, max_records = self._share_of_each(sum(map(len, reads))), self._limits.max_records
        for parts in reads:
            room, read_any = self._max_bytes, False
            for part in parts:
                if pace.add(COSTLY):
                    yield
                offset = self._next_offset(part)
                share_partition = part.share_partition
                if offset is None or share_partition is None:
                    continue  # another member has acquired the records meanwhile
                part.acquired = []
                assert part.partition is not None
                if max_records <= 0 and offset >= part.partition.log.log_start_offset:
                    continue  # none of the records that would be read could be acquired
                limits = self._limits._replace(max_records=max_records)
                read = yield from self._batches(
                    part, share_partition, offset, min(max_bytes, room), not read_any, limits, pace
                )
                if read is None or self._next_offset(part) != offset:
                    continue
                read_any = True
                room = max(room - read.size_bytes, 0)
                max_records -= yield from self._acquire(part, share_partition, offset, read, limits, now_ms)

    def _batches(
        self,
        part: ReadPartition,
        share_partition: SharePartition,
        offset: int,
        max_bytes: int,
        at_least_one: bool,
        limits: AcquireRequest,
        pace: Pace,
    ) -> Task[ReadBatches | None]:
        """Read the log. If it starts later, the start of the share partition is moved, and nothing is read."""
        assert part.partition is not None
        assert part.topic is not None
        log = part.partition.log
        if offset < log.log_start_offset:
            yield from share_partition.move_log_start(log.log_start_offset)
            return None
        end = self._end_of(part.partition)
        if offset >= end or (not max_bytes and not at_least_one):
            return None
        try:
            chunks = log.read_segment(offset, max_bytes, at_least_one=at_least_one)[0]
        except OSError as error:
            name = f"reading partition {part.partition.index} of {part.topic.name}"
            self._node.cluster.storage_failed(name, error)
            part.error = ErrorCode.kafka_storage_error
            return None
        read = ReadBatches()
        whole = end == log.log_end_offset
        yield from read.read(chunks, None if whole else end, partial(needs_no_more, share_partition, limits), pace)
        return read if read.batches else None

    def _acquire(
        self,
        part: ReadPartition,
        share_partition: SharePartition,
        offset: int,
        read: ReadBatches,
        limits: AcquireRequest,
        now_ms: int,
    ) -> Task[int]:
        """Acquire records and return how many."""
        assert part.partition is not None
        producers = part.partition.producers
        aborted = []
        if self._config.isolation_level == READ_COMMITTED and producers is not None:
            end = read.batches[-1].last_offset + 1
            aborted = read.aborted(producers.transactions.aborted_in(offset, end))
        part.acquired = yield from acquiring(share_partition, limits, offset, read.batches, aborted, now_ms)
        part.records = read.part(part.acquired)
        return sum([entry.last_offset - entry.first_offset + 1 for entry in part.acquired])


def _look_up_offset(part: ReadPartition, offset: int) -> bool:
    """Note the offset that is looked up in the log, and return whether it is another one than before."""
    assert part.partition is not None
    assert part.share_partition is not None
    if part.share_partition.looked_up_offset == offset:
        return False
    if offset >= part.partition.log.log_start_offset:
        part.share_partition.looked_up_offset = offset
    return True
