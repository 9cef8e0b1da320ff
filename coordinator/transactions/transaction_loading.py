"""Becoming the coordinator of a partition's transactional ids. Transactions that were decided are finished."""

from typing import ClassVar

from kohort.coordinator.context import Shard
from kohort.coordinator.offsets_topic_records import UnreadableRecord
from kohort.coordinator.transactions.ending import finish
from kohort.coordinator.transactions.transaction import ENDING, Transaction
from kohort.coordinator.transactions.transaction_coordinator import TransactionCoordinator
from kohort.coordinator.transactions.transaction_records import read_transaction_key, read_transaction_value
from kohort.protocol.batches import CONTROL, BatchInfo, keys_and_values


class TransactionLoading:
    """The replay of one partition of `__transaction_state`. Until it is finished, who asks hears that it is loading."""

    what: ClassVar[str] = "transactional ids"

    def __init__(self, coordinator: TransactionCoordinator, partition: int, leader_epoch: int) -> None:
        self._coordinator = coordinator
        self._partition = partition
        self._leader_epoch = leader_epoch
        self._transactions: dict[str, Transaction] = {}
        self.records = 0
        """How many have been applied, for whoever reports the load."""
        coordinator.shards[partition] = Shard.LOADING, leader_epoch

    def apply_batch(self, data: bytes | memoryview, batch: BatchInfo) -> None:
        """Takes over the records of a batch. Raises records.UnreadableRecord, DecodeError."""
        if batch.attributes & CONTROL:
            return
        for key, value in keys_and_values(data, batch):
            if key is None:
                raise UnreadableRecord("a record without a key")
            self.records += 1
            transactional_id = read_transaction_key(key)
            if transactional_id is None:
                continue
            if value is None:
                self._transactions.pop(transactional_id, None)
            else:
                self._transactions[transactional_id] = read_transaction_value(transactional_id, value)

    def prepare(self, now_ms: int) -> bool:
        """Nothing: ids are ready as they are read."""
        return False

    def finish(self, now_ms: int) -> int:
        """The ids are served from now on. Returns how many there are."""
        coordinator = self._coordinator
        coordinator.shards[self._partition] = Shard.ACTIVE, self._leader_epoch
        coordinator.transactions.update(self._transactions)
        for each in self._transactions.values():
            if each.state in ENDING:
                finish(coordinator, each, now_ms)
        return len(self._transactions)

    def fail(self) -> None:
        """The records cannot be read, or somebody else leads: this node does not coordinate the partition's ids."""
        self._coordinator.shards.pop(self._partition, None)
