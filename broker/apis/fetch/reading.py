"""Reads the partitions of a fetch request or of its session."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kohort.broker.apis.fetch.committed import committed
from kohort.broker.apis.fetch.fetch_answers import by_topic, ids_first, named_once, refused, topic_response, unknown
from kohort.broker.apis.fetch.growth import MUCH_BYTES, Growth, only_grows
from kohort.broker.apis.fetch.naming_leaders import name_leaders
from kohort.broker.apis.leadership import NO_EPOCH, refusal_to_lead
from kohort.broker.cluster.broker_cluster import ALL_UNREAD_BYTES
from kohort.broker.cluster.fetch_sessions import NO_SESSION, TOPIC_IDS_FROM
from kohort.broker.scheduling.cooperative import finished, one_by_one
from kohort.protocol.errors import ErrorCode
from kohort.protocol.messages.fetch import (
    AbortedTransaction,
    EpochEndOffset,
    FetchableTopicResponse,
    FetchPartition,
    FetchRequest,
    FetchResponse,
    PartitionData,
)
from kohort.security.rights import READ_TOPIC
from kohort.storage.transactions import chunks_before

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from kohort.broker.apis.fetch.fetch_answers import TopicAnswer
    from kohort.broker.cluster.access import Access
    from kohort.broker.cluster.fetch_sessions import FetchSession, SessionPartition
    from kohort.broker.cluster.node import Node
    from kohort.broker.scheduling.cooperative import Task
    from kohort.broker.ticket import Ticket
    from kohort.protocol.messages.fetch import FetchTopic
    from kohort.storage.topic import Partition, Topic

SHORT = 32  # partitions that are read in one slice

LEADERS_FROM = 16
READ_COMMITTED = 1


class Reading:
    """Partitions of a fetch, and the result of reading them last: call `read`, then `response`.

    Unknown partitions are looked up once, and their errors do not complete the fetch, as in Kafka.
    """

    __slots__ = (
        "_committed_only",
        "_growth",
        "_limit",
        "_max_bytes",
        "_room",
        "_session_id",
        "failed",
        "forgotten",
        "full",
        "min_bytes",
        "node",
        "size_bytes",
        "ticket",
    )

    def __init__(self, node: Node, request: FetchRequest, ticket: Ticket) -> None:
        self.ticket = ticket
        self.node = node
        self._session_id = request.session_id
        self._max_bytes = min(request.max_bytes, node.cluster.settings.fetch_max_bytes)
        # Bytes that may still be read. A negative limit applies to the first partition, as in Kafka.
        self._limit = self._room = 0
        self._committed_only = request.isolation_level == READ_COMMITTED
        self.min_bytes = min(request.min_bytes, self._max_bytes)
        self.size_bytes = 0
        self.failed = False  # whether reading a partition failed, which completes the fetch
        self._growth: Growth | None = None  # None: reading again is the only way to find out whether there is enough
        self.forgotten = False  # whether the records read last were dropped
        self.full = False  # whether a limit or the end of a segment left records out: waiting would not bring more

    def look(self) -> Task[None]:
        """Look up the partitions, in slices."""
        yield

    def look_at_once(self) -> None:
        """Look up the partitions, without a pause."""

    def keys(self) -> list[Partition]:
        """Return the existing partitions: an append to one checks the operations under it.

        Without any, the fetch can't wait.
        """
        raise NotImplementedError

    def read(self) -> Task[Any]:
        """Read every partition, within the limits of the request and the broker, in slices.

        The first batch is returned whatever its size, so that a large one does not block a consumer (KIP-74).
        """
        raise NotImplementedError

    def read_at_once(self) -> None:
        for _ in self.read():
            pass

    @property
    def is_long(self) -> bool:
        """Whether reading is done in slices."""
        raise NotImplementedError

    @property
    def is_enough(self) -> bool:
        """Whether enough was read for a response. Source: Kafka's `DelayedFetch.tryComplete`."""
        return self.failed or self.full or self.size_bytes >= self.min_bytes

    def forget(self) -> None:
        """Drop the records. If these were many, they are read again only when there may be enough."""
        self.forgotten = True
        partitions = self.keys() if self.size_bytes >= MUCH_BYTES else []
        if all(only_grows(partition, committed_only=self._committed_only) for partition in partitions):
            self._growth = Growth(partitions) if partitions else None

    @property
    def may_be_enough(self) -> bool:
        """Whether reading again could give enough."""
        grown = None if self._growth is None else self._growth.bytes_since()
        return grown is None or self.size_bytes + grown >= self.min_bytes

    def response(self, now_ms: int) -> FetchResponse:
        """Return the response with the records that were read last."""
        raise NotImplementedError

    def respond(self, now_ms: int) -> Task[FetchResponse]:
        """Return the response as `response` does, in slices."""
        yield
        return self.response(now_ms)

    def _begin(self) -> None:
        unread_bytes = self.node.cluster.unread_bytes
        self._limit = self._room = min(self._max_bytes, max(ALL_UNREAD_BYTES - unread_bytes, 0))
        self.size_bytes = 0
        self.failed = self.full = self.forgotten = False
        self._growth = None

    def _read_partition(self, topic: Topic, part: FetchPartition, partition: Partition) -> PartitionData:
        node, room = self.node, self._room
        if room < 0:
            self._room = 0
        if node.cluster.topics.by_name(topic.name) is not topic:
            return self._failure(part, ErrorCode.unknown_topic_or_partition)
        if part.current_leader_epoch >= 0 or partition.leader != node.id:
            # A negative epoch means no epoch (Kafka: `FetchRequest.optionalEpoch`).
            refusal = refusal_to_lead(node, partition, max(part.current_leader_epoch, NO_EPOCH))
            if refusal is not None:
                return self._failure(part, refusal)
        log, offset = partition.log, part.fetch_offset
        log_start_offset = log.log_start_offset
        if part.last_fetched_epoch >= 0 and (diverged := self._diverged(part, partition)) is not None:
            return diverged
        if not log_start_offset <= offset <= log.log_end_offset:
            return self._failure(part, ErrorCode.offset_out_of_range)
        size, limit = self.size_bytes, min(part.partition_max_bytes, room)
        if limit < 0 and offset < self._readable_end(partition):
            return self._failure(part, ErrorCode.unknown_server_error)  # as in Kafka (`LogSegment.read`)
        try:
            records, full = log.read_segment(offset, max(limit, 0), at_least_one=size == 0)
        except OSError as error:
            node.cluster.storage_failed(f"reading partition {part.partition} of {topic.name}", error)
            return self._failure(part, ErrorCode.kafka_storage_error)
        if full or (log.segment_count > 1 and log.is_in_older_segment(offset, self._readable_end(partition))):
            self.full = True
        high_watermark = log.high_watermark
        if high_watermark < log.log_end_offset:
            records = chunks_before(records, high_watermark)
        aborted: tuple[AbortedTransaction, ...] | None = None
        if self._committed_only:
            records, aborted = committed(partition, offset, records)
        if records:
            self.size_bytes = size + sum(map(len, records))
            self._room = max(self._limit - self.size_bytes, 0)
        return PartitionData(
            partition_index=part.partition,
            error_code=ErrorCode.none,
            high_watermark=high_watermark,
            last_stable_offset=high_watermark if partition.producers is None else partition.last_stable_offset,
            log_start_offset=log_start_offset,
            aborted_transactions=aborted,
            records=records,
        )

    def _readable_end(self, partition: Partition) -> int:
        return partition.last_stable_offset if self._committed_only else partition.log.high_watermark

    def _diverged(self, part: FetchPartition, partition: Partition) -> PartitionData | None:
        """Return the response for a client whose last records are not in the log, or None if they are.

        Source: KIP-595; Kafka's `Partition.readRecords`.
        """
        log = partition.log
        epoch, end_offset = log.end_offset_for_epoch(part.last_fetched_epoch)
        if epoch < 0 or part.fetch_offset < log.log_start_offset:
            return self._failure(part, ErrorCode.offset_out_of_range)
        if epoch == part.last_fetched_epoch and part.fetch_offset <= end_offset:
            return None
        self.failed = True
        return PartitionData(
            partition_index=part.partition,
            error_code=ErrorCode.none,
            high_watermark=log.high_watermark,
            last_stable_offset=partition.last_stable_offset,
            log_start_offset=log.log_start_offset,
            diverging_epoch=EpochEndOffset(epoch=epoch, end_offset=end_offset),
            aborted_transactions=None,
            records=(),
        )

    def _failure(self, part: FetchPartition, error_code: ErrorCode) -> PartitionData:
        self.failed = True
        return refused(part, error_code, None)

    def _answer(self, session_id: int, topics: list[TopicAnswer] | None) -> FetchResponse:
        if topics is None:
            unknown = ErrorCode.unknown_server_error
            return FetchResponse(error_code=unknown, session_id=self._session_id, responses=())
        return self._whole(session_id, tuple([topic_response(topic) for topic in topics]))

    def _whole(self, session_id: int, responses: tuple[FetchableTopicResponse, ...]) -> FetchResponse:
        response = FetchResponse(session_id=session_id, responses=responses)
        if self.failed and self.ticket.version >= LEADERS_FROM:
            name_leaders(self.node, self.ticket, response)
        return response


class PlainReading(Reading):
    """The partitions of a request without a session."""

    __slots__ = ("_by_topic", "_datas", "_named", "_unknown")

    def __init__(self, node: Node, request: FetchRequest, ticket: Ticket) -> None:
        super().__init__(node, request, ticket)
        self._by_topic: list[tuple[FetchTopic, Topic, list[tuple[FetchPartition, Partition]]]] = []
        self._unknown: list[tuple[FetchTopic, str, PartitionData]] = []
        self._named = request.topics

    def look_at_once(self) -> None:
        for entry, parts in named_once(self._named):
            self._look_up(entry, parts)

    def look(self) -> Task[None]:
        for entry, parts in named_once(self._named):
            for start in range(0, max(len(parts), 1), SHORT):
                self._look_up(entry, parts[start : start + SHORT])
                yield

    def _look_up(self, entry: FetchTopic, parts: Sequence[FetchPartition]) -> None:
        """Look up partitions of a topic; a topic with many is looked up in several calls."""
        ticket, topics, access = self.ticket, self.node.cluster.topics, self.node.cluster.access
        by_id = ticket.version >= TOPIC_IDS_FROM
        topic = topics.by_id(entry.topic_id) if by_id else topics.by_name(entry.topic)
        if access is not None and not _may_read(access, ticket, topic, "" if by_id else entry.topic):
            self._unknown += ((entry, entry.topic, refused(part, _NOT_ALLOWED, ())) for part in parts)
            return
        pairs = []
        for part in parts:
            partition = topic.partition(part.partition) if topic is not None else None
            if partition is not None:
                pairs.append((part, partition))
            else:
                self._unknown.append((entry, entry.topic, unknown(part, by_id=by_id and topic is None)))
        if topic is None or not pairs:
            return
        if self._by_topic and self._by_topic[-1][0] is entry and self._by_topic[-1][1] is topic:
            self._by_topic[-1][2].extend(pairs)
        else:
            self._by_topic.append((entry, topic, pairs))

    def keys(self) -> list[Partition]:
        return [partition for _, _, pairs in self._by_topic for _, partition in pairs]

    @property
    def is_long(self) -> bool:
        return sum([len(entry.partitions) or 1 for entry in self._named]) > SHORT

    def read(self) -> Task[Any]:
        self._begin()
        read = self._read_partition
        self._datas = []
        for _, topic, pairs in self._by_topic:
            datas: list[PartitionData] = []
            self._datas.append(datas)
            for part, partition in pairs:
                datas.append(read(topic, part, partition))
                yield

    def forget(self) -> None:
        super().forget()
        self._datas = []

    def response(self, now_ms: int) -> FetchResponse:
        answers = zip(self._by_topic, self._datas, strict=True)
        if not self._unknown:
            return self._answer(NO_SESSION, [(entry.topic_id, entry.topic, datas) for (entry, _, _), datas in answers])
        return finished(self.respond(now_ms))

    def respond(self, now_ms: int) -> Task[FetchResponse]:
        if not self._unknown:
            yield
            return self.response(now_ms)
        answers = zip(self._by_topic, self._datas, strict=True)
        answered = [(entry.topic_id, entry.topic, data) for (entry, _, _), datas in answers for data in datas]
        answered += [(entry.topic_id, name, data) for entry, name, data in sorted(self._unknown, key=ids_first)]
        topics = yield from by_topic(answered, by_id=self.ticket.version >= TOPIC_IDS_FROM)
        if topics is None:
            return self._answer(NO_SESSION, None)
        return self._whole(NO_SESSION, (yield from one_by_one(topic_response, topics)))


class SessionReading(Reading):
    """The partitions of a session. The response contains only those with news.

    In the first fetch of a session (`begins`) all partitions are news; then the session is added to the node's cache.
    """

    __slots__ = ("_begins", "_cached", "_datas", "_expected_epoch", "_not_allowed", "_session")

    def __init__(
        self, node: Node, request: FetchRequest, ticket: Ticket, session: FetchSession, *, begins: bool
    ) -> None:
        super().__init__(node, request, ticket)
        session.resolve(node.cluster.topics)
        self._session = session
        self._begins = begins
        self._expected_epoch = session.epoch
        self._cached = list(session.partitions.values())
        # they stay in the session, and are read once the client is authorized
        self._not_allowed: list[SessionPartition] = []
        if node.cluster.access is not None:
            self._leave_out_what_is_not_allowed(node.cluster.access)
        self._datas: list[tuple[SessionPartition, PartitionData]] = []

    def keys(self) -> list[Partition]:
        return [cached.partition for cached in self._cached if cached.partition is not None]

    @property
    def is_long(self) -> bool:
        return len(self._cached) > SHORT

    def read(self) -> Task[Any]:
        self._begin()
        self._datas = datas = []
        node_id = self.node.id
        up_to_date = self._session.is_up_to_date(self.node.cluster.topics)
        for number, cached in enumerate(self._cached):
            partition = cached.partition
            if partition is None:
                continue
            if not number % SHORT:
                yield
            part = cached.part
            log = partition.log
            if (
                part.fetch_offset == cached.high_watermark == log.high_watermark
                and cached.log_start_offset == log.log_start_offset
                and part.current_leader_epoch in (NO_EPOCH, partition.leader_epoch)
                and partition.leader == node_id
                and up_to_date
            ):
                continue  # fast path of most partitions of a session: no news
            topic = cached.topic
            if topic.made_anew or topic.topic is None:
                data = self._failure(part, ErrorCode.inconsistent_topic_id)
            else:
                data = self._read_partition(topic.topic, part, partition)
            datas.append((cached, data))

    def forget(self) -> None:
        super().forget()
        self._datas = []

    def response(self, now_ms: int) -> FetchResponse:
        session = self._session
        if self._begins:
            self.node.fetch_sessions.add(session, now_ms)
        elif session.epoch != self._expected_epoch:
            # Another request of the session has come while this one waited.
            return FetchResponse(error_code=ErrorCode.invalid_fetch_session_epoch, session_id=session.id, responses=())
        answered = []
        for cached, data in (*self._datas, *sorted(self._unknown(), key=ids_first)):
            if cached.is_news(data):
                topic = cached.topic
                answered.append((topic.topic_id, "" if session.by_id else topic.name, data))
                if data.records and not self._begins:
                    session.put_last(cached)
        return self._answer(session.id, finished(by_topic(answered, by_id=session.by_id)))

    def _leave_out_what_is_not_allowed(self, access: Access) -> None:
        topics = {cached.topic for cached in self._cached}
        allowed = {topic for topic in topics if _may_read(access, self.ticket, topic.topic, topic.name)}
        self._not_allowed = [cached for cached in self._cached if cached.topic not in allowed]
        self._cached = [cached for cached in self._cached if cached.topic in allowed]

    def _unknown(self) -> Iterable[tuple[SessionPartition, PartitionData]]:
        for cached in self._not_allowed:
            yield cached, refused(cached.part, _NOT_ALLOWED, ())
        for cached in self._cached:
            if cached.partition is None:
                topic = cached.topic
                yield cached, unknown(cached.part, by_id=self._session.by_id and not topic.name)


_NOT_ALLOWED = ErrorCode.topic_authorization_failed


def _may_read(access: Access, ticket: Ticket, topic: Topic | None, name: str) -> bool:
    """Return whether the client may read a topic. An unknown topic id, which has no name, is not checked."""
    name = name if topic is None else topic.name
    return not name or access.allows(ticket, READ_TOPIC, name)
