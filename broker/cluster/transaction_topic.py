"""`__transaction_state`: created on first use, and written for the transaction coordinators."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kohort.broker.cluster.coordinated_topic import CoordinatedTopic
from kohort.coordinator.effects import TRANSACTION_TOPIC
from kohort.protocol.batches import EncodedRecords
from kohort.protocol.errors import ErrorCode
from kohort.storage.topic import Partition

if TYPE_CHECKING:
    from kohort.coordinator.transactions.transaction_coordinator import TransactionCoordinator
    from kohort.coordinator.transactions.transaction_loading import TransactionLoading


class TransactionTopic(CoordinatedTopic["TransactionCoordinator"]):
    """The topic of transactional ids, and the coordinators of its partitions."""

    name = TRANSACTION_TOPIC
    keeps = "transaction"

    def _shape(self) -> tuple[int, int, dict[str, str]]:
        settings = self._state.settings
        configs = {
            "cleanup.policy": "compact",
            "compression.type": "uncompressed",
            "min.insync.replicas": str(settings.transaction_state_log_min_isr),
            "segment.bytes": str(settings.transaction_state_log_segment_bytes),
            "unclean.leader.election.enable": "false",
        }
        return (
            settings.transaction_state_log_num_partitions,
            settings.transaction_state_log_replication_factor,
            configs,
        )

    def _set_partitions(self, coordinator: TransactionCoordinator, count: int) -> None:
        coordinator.partitions = count

    def _loading(self, leader: TransactionCoordinator, partition: Partition) -> TransactionLoading:
        from kohort.coordinator.transactions.transaction_loading import (
            TransactionLoading,
        )  # imported only for transactions

        return TransactionLoading(leader, partition.index, partition.leader_epoch)

    def _unload(self, leader: TransactionCoordinator, partition: Partition, now_ms: int) -> None:
        leader.unload(partition.index, now_ms)

    def append(self, number: int, records: EncodedRecords, timestamp_ms: int, now_ms: int) -> ErrorCode:
        """Write a coordinator's records as one batch.

        Args:
            number: Partition.
            timestamp_ms: Wall clock.
        """
        topic = self._topic
        if topic is None:
            return ErrorCode.unknown_topic_or_partition
        batch = records.batch(timestamp_ms)
        if len(batch) > topic.log_config.max_message_bytes:
            return ErrorCode.message_too_large
        self._state.append(topic.partitions[number], batch, now_ms)
        return ErrorCode.none
