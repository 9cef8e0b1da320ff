"""`__transaction_state`: created on first use, written for the transaction coordinators; and the markers they send."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kohort.broker.logs import log
from kohort.coordinator.effects import OFFSETS_TOPIC, TRANSACTION_TOPIC, WriteMarkers
from kohort.coordinator.pending_offsets import complete
from kohort.coordinator.placement import partition_for
from kohort.coordinator.transactions.loading import TransactionLoading
from kohort.protocol.batches import EncodedRecords, Marker, marker_batch
from kohort.protocol.errors import ErrorCode
from kohort.purgatory import DelayedOperation
from kohort.storage.topics import Partition, Refusal, Topic

if TYPE_CHECKING:
    from uuid import UUID

    from kohort.broker.cluster import Cluster
    from kohort.broker.node import Node
    from kohort.broker.replay import Replay


class TransactionTopic:
    """The topic that keeps transactional ids, and who looks after which part of it."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._topic: Topic | None = None
        self._creation: DelayedOperation | None = None
        self._refused = False
        self._loads: dict[int, Replay] = {}
        """The last load of each partition, running or over."""

    def coordinator_of(self, transactional_id: str) -> Node | None:
        """The node that coordinates a transactional id; None while there is no such topic."""
        topic = self._topic
        if topic is None:
            return None
        partition = topic.partitions[partition_for(transactional_id, len(topic.partitions))]
        return self._cluster.node(partition.leader)

    def wanted(self, now_ms: int) -> None:
        """Somebody asked for it: it will be there in a moment, though not yet for this request, as in Kafka."""
        if self._topic is None and self._creation is None:
            self._creation = _Creation(self, now_ms)
            self._cluster.purgatory.wait(self._creation)

    def create(self, now_ms: int) -> None:
        """Creates it, and has each partition's leader take it over. With too few nodes for its copies: a log line."""
        self._creation = None
        cluster = self._cluster
        try:
            created = cluster.topics.by_name(TRANSACTION_TOPIC) or self.make()
        except OSError as problem:
            cluster.storage_failed(f"{TRANSACTION_TOPIC} cannot be created", problem)
            return
        if isinstance(created, Refusal):
            if not self._refused:
                log.warning(
                    f"no transaction finds a coordinator, as {TRANSACTION_TOPIC} cannot be created: {created.message}"
                )
            self._refused = True
            return
        self._topic = created
        for node in cluster.nodes:
            node.transactions.partitions = len(created.partitions)
        for partition in created.partitions:
            self.elected(partition, now_ms)

    def make(self, least_partitions: int = 1, topic_id: UUID | None = None) -> Topic | Refusal:
        """Creates it, and nobody takes it over yet. `topic_id`: of one whose files are there. Raises OSError."""
        settings = self._cluster.settings
        return self._cluster.topics.create(
            TRANSACTION_TOPIC,
            max(settings.transaction_state_log_num_partitions, least_partitions),
            settings.transaction_state_log_replication_factor,
            {
                "cleanup.policy": "compact",
                "compression.type": "uncompressed",
                "min.insync.replicas": str(settings.transaction_state_log_min_isr),
                "segment.bytes": str(settings.transaction_state_log_segment_bytes),
                "unclean.leader.election.enable": "false",
            },
            topic_id=topic_id,
        )

    def deleted(self, now_ms: int) -> None:
        """Somebody has deleted it: all transactional ids are gone, till somebody asks for a coordinator."""
        if self._topic is None:
            return
        for partition in self._topic.partitions:
            self.resigned(partition, now_ms)
        self._topic = None

    def resigned(self, partition: Partition, now_ms: int) -> None:
        """Its leader is about to lose one of the topic's partitions, and forgets the ids."""
        leader = self._cluster.node(partition.leader)
        if self._topic is None or leader is None:
            return
        running = self._loads.pop(partition.index, None)  # none for one that was added later: it has no ids
        if running is not None:
            running.cancel()
        leader.transactions.unload(partition.index, now_ms)

    def elected(self, partition: Partition, now_ms: int) -> None:
        """One of the topic's partitions has a leader, or none; it takes over the ids that its log tells of."""
        leader = self._cluster.node(partition.leader)
        if self._topic is None or leader is None:
            return
        loading = TransactionLoading(leader.transactions, partition.index, partition.leader_epoch)
        name = f"{TRANSACTION_TOPIC}-{partition.index}"
        self._loads[partition.index] = self._cluster.replays.start(name, partition.log, loading, now_ms)

    def append(self, number: int, records: EncodedRecords, timestamp_ms: int, now_ms: int) -> ErrorCode:
        """Writes records of a coordinator as one batch to partition `number`. `timestamp_ms`: wall clock."""
        topic = self._topic
        if topic is None:
            return ErrorCode.unknown_topic_or_partition
        batch = records.batch(timestamp_ms)
        if len(batch) > topic.log_config.max_message_bytes:
            return ErrorCode.message_too_large
        self._cluster.append(topic.partitions[number], batch, now_ms)
        return ErrorCode.none


def write_markers(cluster: Cluster, effect: WriteMarkers, now_ms: int) -> ErrorCode:
    """Writes the end of a transaction to its partitions, wherever they are led. Those that are gone are left."""
    for topic, index in effect.partitions:
        error = write_marker(cluster, topic, index, effect.producer_id, effect.producer_epoch, effect.marker, now_ms)
        if error not in (ErrorCode.none, ErrorCode.unknown_topic_or_partition):
            log.warning(f"{topic}-{index}: the end of producer {effect.producer_id}'s transaction: {error.name}")
    return ErrorCode.none


def write_marker(
    cluster: Cluster,
    topic_name: str,
    index: int,
    producer_id: int,
    producer_epoch: int,
    marker: Marker,
    now_ms: int,
    *,
    bumped: bool = False,
) -> ErrorCode:
    """Writes the end of a producer's transaction to one partition.

    `bumped`: the epoch must be newer than that of the transaction (`Producers.check_epoch`).

    Refusals: UNKNOWN_TOPIC_OR_PARTITION, INVALID_PRODUCER_EPOCH, TRANSACTION_COORDINATOR_FENCED.
    """
    topic = cluster.topics.by_name(topic_name)
    partition = None if topic is None else topic.partition(index)
    if partition is None:
        return ErrorCode.unknown_topic_or_partition
    producers = cluster.topics.producers_of(partition)
    error = producers.check_epoch(producer_id, producer_epoch, marker.coordinator_epoch, bumped=bumped)
    if error is not ErrorCode.none:
        return error
    wall_ms = now_ms + cluster.clock.epoch_ms

    def remember(offset: int) -> None:
        producers.ended(
            producer_id, producer_epoch, offset, marker.coordinator_epoch, wall_ms, committed=marker.committed
        )

    cluster.append(partition, marker_batch(marker, producer_id, producer_epoch, wall_ms), now_ms, remember)
    if topic_name == OFFSETS_TOPIC:
        leader = cluster.node(partition.leader)
        if leader is not None:  # else whoever will lead it reads the marker in the log
            complete(leader.coordinator, index, producer_id, marker.committed, now_ms)
    return ErrorCode.none


class _Creation(DelayedOperation):
    """The moment after the first FindCoordinator."""

    __slots__ = ("_topic",)

    def __init__(self, topic: TransactionTopic, now_ms: int) -> None:
        super().__init__(now_ms)
        self._topic = topic

    def on_complete(self, now_ms: int, *, expired: bool) -> None:
        self._topic.create(now_ms)
