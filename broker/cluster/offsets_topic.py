"""`__consumer_offsets`: created on first use or at start, and written for the coordinators."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kohort.broker.cluster.coordinated_topic import CoordinatedTopic
from kohort.coordinator.effects import OFFSETS_TOPIC
from kohort.coordinator.groups.loading import Loading, unload
from kohort.protocol.batches import EncodedRecords
from kohort.protocol.errors import ErrorCode
from kohort.storage.producers import Remembered
from kohort.storage.topic import Partition

if TYPE_CHECKING:
    from kohort.coordinator.coordinator import GroupCoordinator

_NONE: Final = ErrorCode.none


class OffsetsTopic(CoordinatedTopic["GroupCoordinator"]):
    """The topic of groups and their offsets, and the coordinators of its partitions."""

    name = OFFSETS_TOPIC
    keeps = "group"

    def leader_epoch(self, partition: int) -> int:
        """Return the epoch of the leader that coordinates a partition's groups; 0 without an offsets topic."""
        return 0 if self._topic is None else self._topic.partitions[partition].leader_epoch

    def _shape(self) -> tuple[int, int, dict[str, str]]:
        settings = self._state.settings
        configs = {
            "cleanup.policy": "compact",
            "compression.type": "producer",
            "segment.bytes": str(settings.offsets_topic_segment_bytes),
        }
        return settings.offsets_topic_num_partitions, settings.offsets_topic_replication_factor, configs

    def _set_partitions(self, coordinator: GroupCoordinator, count: int) -> None:
        coordinator.partitions = count

    def _loading(self, leader: GroupCoordinator, partition: Partition) -> Loading:
        return Loading(leader, partition.index)

    def _unload(self, leader: GroupCoordinator, partition: Partition, now_ms: int) -> None:
        unload(leader, partition.index, now_ms)

    def append(
        self,
        number: int,
        records: EncodedRecords,
        timestamp_ms: int,
        now_ms: int,
        producer: tuple[int, int] | None = None,
    ) -> tuple[ErrorCode, int | None]:
        """Write a coordinator's records as one batch.

        Args:
            number: Partition.
            timestamp_ms: Wall clock.
            producer: Id and epoch of their transaction; an older epoch is rejected with INVALID_PRODUCER_EPOCH.

        Returns:
            NONE and the offset of the last record, or the error.
        """
        topic = self._topic
        if topic is None:
            return ErrorCode.unknown_topic_or_partition, None
        batch = records.batch(timestamp_ms, producer)
        if len(batch) > topic.log_config.max_message_bytes:
            return ErrorCode.message_too_large, None
        partition = topic.partitions[number]
        if producer is None:
            base_offset = self._state.append(partition, batch, now_ms)
            return _NONE, base_offset + records.count - 1
        producers = self._state.topics.producers_of(partition)
        error = producers.check_epoch(*producer)
        if error is not ErrorCode.none:
            return error, None
        base_offset = self._state.append(
            partition,
            batch,
            now_ms,
            lambda offset: producers.appended(
                *producer, Remembered(-1, -1, offset, timestamp_ms), timestamp_ms, transactional=True
            ),
        )
        return error, base_offset + records.count - 1
