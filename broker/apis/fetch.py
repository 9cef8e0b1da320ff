"""Fetch (key 1), versions 4 to 18.

v4 isolation level (KIP-98) · v5 the log's start (KIP-107) · v6 as v5 · v7 sessions (KIP-227) · v8 as v7 · v9 leader
epochs (KIP-320) · v10 zstd (KIP-110) · v11 racks (KIP-392) · v12 tagged fields, diverging epochs (KIP-595) · v13 topics
by id (KIP-516) · v14 tiered storage (KIP-405) · v15 replica state (KIP-903) · v16 the new leader is told (KIP-951) ·
v17 directory ids (KIP-853) · v18 followers tell their high watermark (KIP-1166).

Left out: sessions; every client is told that it has none (session id 0), as by a Kafka whose cache of sessions is full.
What only followers use: replica ids, diverging epochs, high watermarks. Replicas nearby are never named (one copy).
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING

from kohort.broker.leadership import led_partition
from kohort.protocol.errors import ErrorCode
from kohort.protocol.messages.fetch import (
    AbortedTransaction,
    FetchableTopicResponse,
    FetchPartition,
    FetchRequest,
    FetchResponse,
    PartitionData,
)
from kohort.protocol.messages.leaders import LeaderIdAndEpoch, NodeEndpoint
from kohort.purgatory import DelayedOperation
from kohort.storage.transactions import before, end_of

if TYPE_CHECKING:
    from kohort.broker.node import Node
    from kohort.broker.ticket import Ticket
    from kohort.storage.segment import Chunk
    from kohort.storage.topics import Partition, Topic

TOPIC_IDS_FROM = 13
LEADERS_FROM = 16

NO_SESSION = 0
FIRST_EPOCH, LAST_EPOCH = 0, -1
"""Session epochs with which a client asks for everything: to begin a session, to end one or have none."""

READ_COMMITTED = 1


def handle(node: Node, request: FetchRequest, ticket: Ticket) -> FetchResponse | None:
    """Answers with what there is, or waits until there is enough."""
    if request.session_epoch not in (FIRST_EPOCH, LAST_EPOCH):
        return FetchResponse(throttle_time_ms=0, error_code=ErrorCode.fetch_session_id_not_found, responses=())
    now_ms = ticket.received_at_ms
    reading = Reading(node, request, ticket)
    fetch = DelayedFetch(reading, now_ms + max(request.max_wait_ms, 0))
    if fetch.can_complete(now_ms) or request.max_wait_ms <= 0 or not any(each.partitions for each in request.topics):
        return reading.response()
    node.cluster.wait_for_records(fetch, reading.keys())
    return None


class DelayedFetch(DelayedOperation):
    """A fetch that waits for its `min_bytes`, or for something to be wrong."""

    __slots__ = ("_reading",)

    def __init__(self, reading: Reading, deadline_ms: int) -> None:
        super().__init__(deadline_ms)
        self._reading = reading

    def can_complete(self, now_ms: int) -> bool:
        """Reads, and looks whether that is enough. Source: Kafka's `DelayedFetch.tryComplete`."""
        reading = self._reading
        reading.read()
        return reading.failed or reading.full or reading.size_bytes >= reading.min_bytes

    def on_complete(self, now_ms: int, *, expired: bool) -> None:
        """Answers with what made it complete, or with what there is when the time is up."""
        if expired:
            self._reading.read()
        self._reading.ticket.reply(self._reading.response())


class Reading:
    """What a fetch asks for, and what reading it gave the last time."""

    __slots__ = ("_node", "_parts", "_request", "failed", "full", "min_bytes", "size_bytes", "ticket")

    def __init__(self, node: Node, request: FetchRequest, ticket: Ticket) -> None:
        self.ticket = ticket
        self._node = node
        self._request = request
        self.min_bytes = min(request.min_bytes, request.max_bytes, node.cluster.settings.fetch_max_bytes)
        self._parts: list[list[PartitionData]] = []
        self.size_bytes = 0
        self.failed = False
        self.full = False
        """Whether a limit left something out: waiting would not bring more."""

    def _topic(self, number: int) -> Topic | None:
        asked = self._request.topics[number]
        topics = self._node.cluster.topics
        return topics.by_id(asked.topic_id) if self.ticket.version >= TOPIC_IDS_FROM else topics.by_name(asked.topic)

    def keys(self) -> list[Hashable]:
        """The partitions: an append to one is announced under itself."""
        return [
            partition
            for number, asked in enumerate(self._request.topics)
            if (topic := self._topic(number)) is not None
            for part in asked.partitions
            if (partition := topic.partition(part.partition)) is not None
        ]

    def read(self) -> None:
        """Reads every partition, within the request's and the broker's limits.

        The first batch found comes whatever its size, so that a large one does not stop a consumer (KIP-74).
        """
        self.size_bytes = 0
        self.failed = self.full = False
        room = min(self._request.max_bytes, self._node.cluster.settings.fetch_max_bytes)
        self._parts = []
        for number, asked in enumerate(self._request.topics):
            topic = self._topic(number)
            datas = []
            for part in asked.partitions:
                data = self._read_partition(topic, part, room - self.size_bytes)
                self.failed |= data.error_code != ErrorCode.none
                if data.records:
                    self.size_bytes += sum(map(len, data.records))
                datas.append(data)
            self._parts.append(datas)

    def _read_partition(self, topic: Topic | None, part: FetchPartition, room: int) -> PartitionData:
        if topic is None and self.ticket.version >= TOPIC_IDS_FROM:
            return _refused(part, ErrorCode.unknown_topic_id, ())
        partition = led_partition(self._node, topic, part.partition, part.current_leader_epoch)
        if isinstance(partition, ErrorCode):
            return _refused(part, partition, () if partition == ErrorCode.unknown_topic_or_partition else None)
        log, offset = partition.log, part.fetch_offset
        if not log.log_start_offset <= offset <= log.log_end_offset:
            return _refused(part, ErrorCode.offset_out_of_range, None)
        limit = max(min(part.partition_max_bytes, room), 0)
        try:
            records, full = log.read_and_look(offset, limit, at_least_one=self.size_bytes == 0)
        except OSError as problem:
            self._node.cluster.storage_failed(f"reading partition {part.partition}", problem)
            return _refused(part, ErrorCode.kafka_storage_error, None)
        self.full |= full
        if log.high_watermark < log.log_end_offset:
            records = before(records, log.high_watermark)
        aborted: tuple[AbortedTransaction, ...] | None = None
        if self._request.isolation_level == READ_COMMITTED:
            records, aborted = _committed(partition, offset, records)
        return PartitionData(
            partition_index=part.partition,
            error_code=ErrorCode.none,
            high_watermark=log.high_watermark,
            last_stable_offset=partition.last_stable_offset,
            log_start_offset=log.log_start_offset,
            aborted_transactions=aborted,
            records=records,
        )

    def response(self) -> FetchResponse:
        """The answer made of what was read last."""
        response = FetchResponse(
            throttle_time_ms=0,
            session_id=NO_SESSION,
            responses=tuple(
                FetchableTopicResponse(topic_id=asked.topic_id, topic=asked.topic, partitions=tuple(datas))
                for asked, datas in zip(self._request.topics, self._parts, strict=True)
                if datas
            ),
        )
        if self.failed and self.ticket.version >= LEADERS_FROM:
            self._name_leaders(response)
        return response

    def _name_leaders(self, response: FetchResponse) -> None:
        """Tells who leads the partitions that this node does not (KIP-951)."""
        cluster = self._node.cluster
        leaders = {}
        for data in response.responses:
            topic = cluster.topics.find(data.topic, data.topic_id)
            for part in data.partitions:
                partition = topic.partition(part.partition_index) if topic is not None else None
                if partition is not None and part.error_code in _ASK_THE_LEADER:
                    part.current_leader = LeaderIdAndEpoch(
                        leader_id=partition.leader, leader_epoch=partition.leader_epoch
                    )
                    leaders[partition.leader] = cluster.node(partition.leader)
        rack = cluster.settings.broker_rack or None
        response.node_endpoints = tuple(
            NodeEndpoint(node_id=each.id, host=(at := each.address_for(self.ticket))[0], port=at[1], rack=rack)
            for each in leaders.values()
            if each is not None
        )


def _committed(
    partition: Partition, offset: int, records: list[Chunk]
) -> tuple[list[Chunk], tuple[AbortedTransaction, ...]]:
    """What of `records` is decided, and which transactions in it were aborted: the client passes over those itself."""
    producers = partition.producers
    if producers is None or not records:
        return records, ()
    transactions, high_watermark = producers.transactions, partition.log.high_watermark
    stable = transactions.last_stable_offset(high_watermark)
    if stable < high_watermark:
        records = before(records, stable)
        if not records:
            return records, ()
    aborted = transactions.aborted_in(offset, high_watermark)
    if aborted:
        end = end_of(records)
        aborted = [each for each in aborted if each.first_offset < end]
    return records, tuple(
        AbortedTransaction(producer_id=each.producer_id, first_offset=each.first_offset) for each in aborted
    )


_ASK_THE_LEADER = (ErrorCode.not_leader_or_follower, ErrorCode.fenced_leader_epoch)


def _refused(part: FetchPartition, error_code: ErrorCode, aborted: tuple[()] | None) -> PartitionData:
    """`aborted`: Kafka answers an empty list before it has looked at the partition, and null afterwards."""
    return PartitionData(
        partition_index=part.partition,
        error_code=error_code,
        high_watermark=-1,
        aborted_transactions=aborted,
        records=(),
    )
