"""`__consumer_offsets`: created on first use or at start, and written for the coordinators."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kohort.broker.logs import log
from kohort.coordinator.effects import OFFSETS_TOPIC
from kohort.coordinator.loading import Loading, unload
from kohort.coordinator.placement import partition_for
from kohort.protocol.batches import EncodedRecords
from kohort.protocol.errors import ErrorCode
from kohort.purgatory import DelayedOperation
from kohort.storage.producers import Remembered
from kohort.storage.topics import Partition, Refusal, Topic

if TYPE_CHECKING:
    from uuid import UUID

    from kohort.broker.cluster import Cluster
    from kohort.broker.node import Node
    from kohort.broker.replay import Replay


class OffsetsTopic:
    """The topic that keeps groups and their offsets, and who looks after which part of it."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._topic: Topic | None = None
        self._creation: DelayedOperation | None = None
        self._refused = False
        self._loads: dict[int, Replay] = {}
        """The last load of each partition, running or over."""

    @property
    def exists(self) -> bool:
        """Whether it has been created."""
        return self._topic is not None

    def coordinator_of(self, group_id: str) -> Node | None:
        """The node that coordinates a group; None while there is no offsets topic. Source: spec §1.1."""
        topic = self._topic
        if topic is None:
            return None
        partition = topic.partitions[partition_for(group_id, len(topic.partitions))]
        return self._cluster.node(partition.leader)

    def leader_epoch(self, partition: int) -> int:
        """The epoch in which its leader coordinates a partition's groups; 0 while there is no offsets topic."""
        return 0 if self._topic is None else self._topic.partitions[partition].leader_epoch

    def wanted(self, now_ms: int) -> None:
        """Somebody asked for it: it will be there in a moment, though not yet for this request, as in Kafka."""
        if self._topic is None and self._creation is None:
            self._creation = _Creation(self, now_ms)
            self._cluster.purgatory.wait(self._creation)

    def create(self, now_ms: int) -> None:
        """Creates it, and has each partition's leader take it over. With too few nodes for its copies: a log line.

        One that a client has created itself is taken as it is, with its own number of partitions (spec §1.1).
        """
        self._creation = None
        cluster = self._cluster
        try:
            created = cluster.topics.by_name(OFFSETS_TOPIC) or self.make()
        except OSError as problem:
            cluster.storage_failed(f"{OFFSETS_TOPIC} cannot be created", problem)
            return
        if isinstance(created, Refusal):
            if not self._refused:
                log.warning(f"no group finds a coordinator, as {OFFSETS_TOPIC} cannot be created: {created.message}")
            self._refused = True
            return
        self._topic = created
        for coordinator in cluster.coordinators:
            coordinator.partitions = len(created.partitions)
        for partition in created.partitions:
            self._load(partition, now_ms)

    def make(self, least_partitions: int = 1, topic_id: UUID | None = None) -> Topic | Refusal:
        """Creates it, and nobody takes it over yet. `topic_id`: of one whose files are there. Raises OSError."""
        settings = self._cluster.settings
        return self._cluster.topics.create(
            OFFSETS_TOPIC,
            max(settings.offsets_topic_num_partitions, least_partitions),
            settings.offsets_topic_replication_factor,
            {
                "cleanup.policy": "compact",
                "compression.type": "producer",
                "segment.bytes": str(settings.offsets_topic_segment_bytes),
            },
            topic_id=topic_id,
        )

    def deleted(self, now_ms: int) -> None:
        """Somebody has deleted it, which Kafka allows: all groups are gone, till somebody asks for a coordinator."""
        if self._topic is None:
            return
        for partition in self._topic.partitions:
            self._unload(partition, now_ms)
        self._topic = None

    def resigned(self, partition: Partition, now_ms: int) -> None:
        """Its leader is about to lose one of the topic's partitions."""
        if self._topic is not None:
            self._unload(partition, now_ms)

    def elected(self, partition: Partition, now_ms: int) -> None:
        """One of the topic's partitions has another leader, or none."""
        if self._topic is not None:
            self._load(partition, now_ms)

    def _load(self, partition: Partition, now_ms: int) -> None:
        """The partition's leader takes over the groups that its log tells of."""
        leader = self._cluster.node(partition.leader)
        if leader is None:
            return
        loading = Loading(leader.coordinator, partition.index)
        name = f"{OFFSETS_TOPIC}-{partition.index}"
        self._loads[partition.index] = self._cluster.replays.start(name, partition.log, loading, now_ms)

    def _unload(self, partition: Partition, now_ms: int) -> None:
        """The partition's leader forgets its groups."""
        leader = self._cluster.node(partition.leader)
        if leader is None:
            return
        running = self._loads.pop(partition.index, None)  # none for one that was added later: it has no groups
        if running is not None:
            running.cancel()
        unload(leader.coordinator, partition.index, now_ms)

    def append(
        self,
        number: int,
        records: EncodedRecords,
        timestamp_ms: int,
        now_ms: int,
        producer: tuple[int, int] | None = None,
    ) -> tuple[ErrorCode, int | None]:
        """Writes records of a coordinator as one batch to partition `number`. `timestamp_ms`: wall clock.

        `producer`: id and epoch, of the transaction they belong to; an older epoch hears INVALID_PRODUCER_EPOCH.
        Returns NONE and the offset of the last record, or the error.
        """
        topic = self._topic
        if topic is None:
            return ErrorCode.unknown_topic_or_partition, None
        batch = records.batch(timestamp_ms, producer)
        if len(batch) > topic.log_config.max_message_bytes:
            return ErrorCode.message_too_large, None
        partition = topic.partitions[number]
        if producer is None:
            base_offset = self._cluster.append(partition, batch, now_ms)
            return ErrorCode.none, base_offset + records.count - 1
        producers = self._cluster.topics.producers_of(partition)
        error = producers.check_epoch(*producer)
        if error is not ErrorCode.none:
            return error, None
        base_offset = self._cluster.append(
            partition,
            batch,
            now_ms,
            lambda offset: producers.appended(
                *producer, Remembered(-1, -1, offset, timestamp_ms), timestamp_ms, transactional=True
            ),
        )
        return error, base_offset + records.count - 1


class _Creation(DelayedOperation):
    """The moment after the first FindCoordinator."""

    __slots__ = ("_offsets_topic",)

    def __init__(self, offsets_topic: OffsetsTopic, now_ms: int) -> None:
        super().__init__(now_ms)
        self._offsets_topic = offsets_topic

    def on_complete(self, now_ms: int, *, expired: bool) -> None:
        self._offsets_topic.create(now_ms)
