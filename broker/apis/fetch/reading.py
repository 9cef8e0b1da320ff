"""What a fetch reads: partitions that a request names, or those that its session remembers."""

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
from kohort.storage.transactions import before

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

SHORT = 32
"""At most this many partitions are read without a pause."""

LEADERS_FROM = 16
READ_COMMITTED = 1


class Reading:
    """What a fetch asks for, and what reading it gave the last time: `read`, then `response`.

    Partitions that nobody knows are looked up once, and their errors do not end the wait for the others, as in Kafka.
    """

    __slots__ = (
        "_committed_only",
        "_growth",
        "_limit",
        "_max_bytes",
        "_room",
        "_session_asked",
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
        self._session_asked = request.session_id
        self._max_bytes = min(request.max_bytes, node.cluster.settings.fetch_max_bytes)
        self._limit = self._room = 0
        """How many bytes may still be read. A negative limit is the first partition's, as in Kafka."""
        self._committed_only = request.isolation_level == READ_COMMITTED
        self.min_bytes = min(request.min_bytes, self._max_bytes)
        self.size_bytes = 0
        self.failed = False
        """Whether a partition could not be read: that is answered at once."""
        self._growth: Growth | None = None
        """None: whether there is enough now is known only by reading again."""
        self.forgotten = False
        """Whether what was read was let go of."""
        self.full = False
        """Whether a limit, or the end of a segment, left something out: waiting would not bring more."""

    def look(self) -> Task[None]:
        """Look up what is named; other clients may be served after each partition."""
        yield

    def look_at_once(self) -> None:
        """Look up what is named, without a pause."""

    def keys(self) -> list[Partition]:
        """The partitions there are: an append to one is announced under itself. Without any there is no wait."""
        raise NotImplementedError

    def read(self) -> Task[Any]:
        """Reads every partition, within the request's and the broker's limits; others may come after each.

        The first batch found comes whatever its size, so that a large one does not stop a consumer (KIP-74).
        """
        raise NotImplementedError

    def read_at_once(self) -> None:
        """Reads all without a pause."""
        for _ in self.read():
            pass

    @property
    def is_long(self) -> bool:
        """Whether reading takes so long that others are served in between."""
        raise NotImplementedError

    @property
    def is_enough(self) -> bool:
        """Whether what was read is enough to answer with. Source: Kafka's `DelayedFetch.tryComplete`."""
        return self.failed or self.full or self.size_bytes >= self.min_bytes

    def forget(self) -> None:
        """Lets go of what was read. Where that was much, it is read again when there may be enough."""
        self.forgotten = True
        partitions = self.keys() if self.size_bytes >= MUCH_BYTES else []
        if all(only_grows(each, committed_only=self._committed_only) for each in partitions):
            self._growth = Growth(partitions) if partitions else None

    @property
    def may_be_enough(self) -> bool:
        """Whether it is worth reading again."""
        grown = None if self._growth is None else self._growth.bytes_since()
        return grown is None or self.size_bytes + grown >= self.min_bytes

    def response(self, now_ms: int) -> FetchResponse:
        """The answer made of what was read last."""
        raise NotImplementedError

    def respond(self, now_ms: int) -> Task[FetchResponse]:
        """Make the response as `response` does, in steps."""
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
            # Any negative epoch is none (Kafka: `FetchRequest.optionalEpoch`).
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
            return self._failure(part, ErrorCode.unknown_server_error)  # Kafka fails over it (`LogSegment.read`)
        try:
            records, full = log.read_segment(offset, max(limit, 0), at_least_one=size == 0)
        except OSError as problem:
            node.cluster.storage_failed(f"reading partition {part.partition} of {topic.name}", problem)
            return self._failure(part, ErrorCode.kafka_storage_error)
        if full or (log.segment_count > 1 and log.is_in_older_segment(offset, self._readable_end(partition))):
            self.full = True
        high_watermark = log.high_watermark
        if high_watermark < log.log_end_offset:
            records = before(records, high_watermark)
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
        """Up to which offset this fetch may read."""
        return partition.last_stable_offset if self._committed_only else partition.log.high_watermark

    def _diverged(self, part: FetchPartition, partition: Partition) -> PartitionData | None:
        """What a client hears whose last records are gone, or who knows an epoch that never was; None: neither.

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
            return FetchResponse(error_code=unknown, session_id=self._session_asked, responses=())
        return self._whole(session_id, tuple([topic_response(topic) for topic in topics]))

    def _whole(self, session_id: int, responses: tuple[FetchableTopicResponse, ...]) -> FetchResponse:
        response = FetchResponse(session_id=session_id, responses=responses)
        if self.failed and self.ticket.version >= LEADERS_FROM:
            name_leaders(self.node, self.ticket, response)
        return response


class PlainReading(Reading):
    """Reads the partitions that the request names."""

    __slots__ = ("_asked", "_datas", "_named", "_unknown")

    def __init__(self, node: Node, request: FetchRequest, ticket: Ticket) -> None:
        super().__init__(node, request, ticket)
        self._asked: list[tuple[FetchTopic, Topic, list[tuple[FetchPartition, Partition]]]] = []
        self._unknown: list[tuple[FetchTopic, str, PartitionData]] = []
        self._named = request.topics

    def look_at_once(self) -> None:
        for asked, parts in named_once(self._named):
            self._look_up(asked, parts)

    def look(self) -> Task[None]:
        for asked, parts in named_once(self._named):
            for start in range(0, max(len(parts), 1), SHORT):
                self._look_up(asked, parts[start : start + SHORT])
                yield

    def _look_up(self, asked: FetchTopic, parts: Sequence[FetchPartition]) -> None:
        """Look up partitions of a topic, perhaps only the next ones."""
        ticket, topics, access = self.ticket, self.node.cluster.topics, self.node.cluster.access
        by_id = ticket.version >= TOPIC_IDS_FROM
        topic = topics.by_id(asked.topic_id) if by_id else topics.by_name(asked.topic)
        if access is not None and not _may_read(access, ticket, topic, "" if by_id else asked.topic):
            self._unknown += ((asked, asked.topic, refused(part, _NOT_ALLOWED, ())) for part in parts)
            return
        known = []
        for part in parts:
            partition = topic.partition(part.partition) if topic is not None else None
            if partition is not None:
                known.append((part, partition))
            else:
                self._unknown.append((asked, asked.topic, unknown(part, by_id=by_id and topic is None)))
        if topic is None or not known:
            return
        if self._asked and self._asked[-1][0] is asked and self._asked[-1][1] is topic:
            self._asked[-1][2].extend(known)
        else:
            self._asked.append((asked, topic, known))

    def keys(self) -> list[Partition]:
        return [partition for _, _, known in self._asked for _, partition in known]

    @property
    def is_long(self) -> bool:
        return sum([len(asked.partitions) or 1 for asked in self._named]) > SHORT

    def read(self) -> Task[Any]:
        self._begin()
        read = self._read_partition
        self._datas = []
        for _, topic, known in self._asked:
            datas: list[PartitionData] = []
            self._datas.append(datas)
            for part, partition in known:
                datas.append(read(topic, part, partition))
                yield

    def forget(self) -> None:
        super().forget()
        self._datas = []

    def response(self, now_ms: int) -> FetchResponse:
        answers = zip(self._asked, self._datas, strict=True)
        if not self._unknown:
            return self._answer(NO_SESSION, [(asked.topic_id, asked.topic, datas) for (asked, _, _), datas in answers])
        return finished(self.respond(now_ms))

    def respond(self, now_ms: int) -> Task[FetchResponse]:
        if not self._unknown:
            yield
            return self.response(now_ms)
        answers = zip(self._asked, self._datas, strict=True)
        answered = [(asked.topic_id, asked.topic, data) for (asked, _, _), datas in answers for data in datas]
        answered += [(asked.topic_id, name, data) for asked, name, data in sorted(self._unknown, key=ids_first)]
        topics = yield from by_topic(answered, by_id=self.ticket.version >= TOPIC_IDS_FROM)
        if topics is None:
            return self._answer(NO_SESSION, None)
        return self._whole(NO_SESSION, (yield from one_by_one(topic_response, topics)))


class SessionReading(Reading):
    """Reads the partitions that a session remembers, and answers only those with news.

    The first one of a session (`begins`) finds everything new; then the session is offered to the node's cache.
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
        self._not_allowed: list[SessionPartition] = []
        """They stay in the session, and are read once that is allowed."""
        if node.cluster.access is not None:
            self._leave_out_what_is_not_allowed(node.cluster.access)
        self._datas: list[tuple[SessionPartition, PartitionData]] = []

    def keys(self) -> list[Partition]:
        return [each.partition for each in self._cached if each.partition is not None]

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
                continue  # nothing to read, nothing to answer: what most partitions of a session hear, made cheap
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
        allowed = {each for each in topics if _may_read(access, self.ticket, each.topic, each.name)}
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
    """Whether a topic is not refused for want of a right. One without a name is an id that nobody knows."""
    name = name if topic is None else topic.name
    return not name or access.allows(ticket, READ_TOPIC, name)
