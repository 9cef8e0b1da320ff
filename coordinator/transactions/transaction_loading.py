"""Loading of a partition's transactional ids by its new coordinator, which completes the decided transactions."""

from typing import ClassVar

from kohort.coordinator.context import Shard
from kohort.coordinator.transactions.ending import finish
from kohort.coordinator.transactions.transaction import ENDING, Transaction
from kohort.coordinator.transactions.transaction_coordinator import TransactionCoordinator
from kohort.coordinator.transactions.transaction_records import read_transaction_key, read_transaction_value
from kohort.protocol.batches import CONTROL, BatchInfo, keys_and_values
from kohort.protocol.records.schema import RecordError


class TransactionLoading:
    """The replay of one partition of `__transaction_state`. Until it has finished, clients receive an error."""

    loads: ClassVar[str] = "transactional ids"

    def __init__(self, coordinator: TransactionCoordinator, partition: int, leader_epoch: int) -> None:
        self._coordinator = coordinator
        self._partition = partition
        self._leader_epoch = leader_epoch
        self._transactions: dict[str, Transaction] = {}
        self.records = 0  # number of applied records, for the report of the load
        coordinator.shards[partition] = Shard.LOADING, leader_epoch

    def apply_batch(self, data: bytes | memoryview, batch: BatchInfo) -> None:
        """Apply the records of a batch. Raises RecordError, DecodeError."""
        if batch.attributes & CONTROL:
            return
        for key, value in keys_and_values(data, batch):
            if key is None:
                raise RecordError("a record without a key")
            self.records += 1
            transactional_id = read_transaction_key(key)
            if transactional_id is None:
                continue
            if value is None:
                self._transactions.pop(transactional_id, None)
            else:
                self._transactions[transactional_id] = read_transaction_value(transactional_id, value)

    def prepare(self, now_ms: int) -> bool:
        return False

    def finish(self, now_ms: int) -> int:
        """Start to serve the ids, and return their number."""
        coordinator = self._coordinator
        coordinator.shards[self._partition] = Shard.ACTIVE, self._leader_epoch
        coordinator.transactions.update(self._transactions)
        for transaction in self._transactions.values():
            if transaction.state in ENDING:
                finish(coordinator, transaction, now_ms)
        return len(self._transactions)

    def fail(self) -> None:
        """Remove the partition: its records cannot be read, or another node leads it."""
        self._coordinator.shards.pop(self._partition, None)
