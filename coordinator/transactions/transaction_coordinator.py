"""The transaction coordinator of one node: its transactional ids, and what it asks of the shell.

What is decided is written to `__transaction_state` first, and counts once it is written; meanwhile the transaction has
a pending state, and whoever asks hears CONCURRENT_TRANSACTIONS. Source: Kafka's `TransactionStateManager`.
"""

from collections.abc import Callable
from dataclasses import fields, replace
from typing import Any

from kohort.coordinator.context import CoordinatorContext, OnWritten, Shard
from kohort.coordinator.effects import TRANSACTION_TOPIC, Append, Effect, WriteMarkers
from kohort.coordinator.group_placement import partition_for
from kohort.coordinator.transactions.transaction import Transaction
from kohort.coordinator.transactions.transaction_records import transaction_key, transaction_value
from kohort.coordinator.transactions.transaction_settings import TransactionSettings
from kohort.protocol.batches import EncodedRecords, Marker, encode_record
from kohort.protocol.errors import ErrorCode
from kohort.purgatory import Purgatory

_FIELDS = tuple(each.name for each in fields(Transaction) if each.name not in ("transactional_id", "pending"))


class TransactionCoordinator(CoordinatorContext):
    """All of one node's transactional ids."""

    def __init__(
        self,
        settings: TransactionSettings,
        purgatory: Purgatory,
        new_producer_id: Callable[[], int],
        *,
        partitions: int = 50,
        epoch_ms: int = 0,
        effects: list[Effect] | None = None,
    ) -> None:
        """`new_producer_id`: ids that no producer of the cluster has had; for the others see `CoordinatorContext`."""
        super().__init__(purgatory, partitions=partitions, epoch_ms=epoch_ms, effects=effects)
        self.settings = settings
        self.new_producer_id = new_producer_id
        self.transactions: dict[str, Transaction] = {}
        self.shards: dict[int, tuple[Shard, int]] = {}
        """How far this node is with the partitions it leads, and its epoch as their leader."""

    def partition_of(self, transactional_id: str) -> int:
        """The partition of `__transaction_state` that a transactional id lives in."""
        return partition_for(transactional_id, self.partitions)

    def find(self, transactional_id: str) -> Transaction | ErrorCode | None:
        """What is known of an id; None: nothing. NOT_COORDINATOR or COORDINATOR_LOAD_IN_PROGRESS: ask again."""
        shard = self.shards.get(self.partition_of(transactional_id))
        if shard is None:
            return ErrorCode.not_coordinator
        if shard[0] is Shard.LOADING:
            return ErrorCode.coordinator_load_in_progress
        return self.transactions.get(transactional_id)

    def write(self, transaction: Transaction, on_written: OnWritten, now_ms: int, **changes: Any) -> None:
        """Writes the transaction with `changes` made, and makes them once that is written; then calls `on_written`."""
        target = replace(transaction, updated_ms=self.wall_ms(now_ms), **changes)
        transaction.pending = target.state

        def written(error: ErrorCode, now_ms: int) -> None:
            transaction.pending = None
            if error is ErrorCode.none:
                for name in _FIELDS:
                    setattr(transaction, name, getattr(target, name))
            on_written(error, now_ms)

        self._append(transaction.transactional_id, transaction_value(target), written, now_ms)

    def forget(self, transaction: Transaction, on_written: OnWritten, now_ms: int) -> None:
        """Writes a tombstone for the id."""
        self._append(transaction.transactional_id, None, on_written, now_ms)

    def _append(self, transactional_id: str, value: bytes | None, on_written: OnWritten, now_ms: int) -> None:
        record = encode_record(transaction_key(transactional_id), value, 0)
        partition = self.partition_of(transactional_id)
        token = self.await_write(partition, on_written)
        records = EncodedRecords(record, 1)
        self.effects.append(Append(token, partition, records, self.wall_ms(now_ms), TRANSACTION_TOPIC))

    def write_markers(self, transaction: Transaction, committed: bool, on_written: OnWritten) -> None:
        """Has the end of a transaction written to each of its partitions."""
        partition = self.partition_of(transaction.transactional_id)
        token = self.await_write(partition, on_written)
        marker = Marker(committed, self.shards[partition][1])
        self.effects.append(
            WriteMarkers(
                token,
                transaction.producer_id,
                transaction.producer_epoch,
                marker,
                transaction.client_version,
                tuple(sorted(transaction.partitions)),
            )
        )

    def unload(self, partition: int, now_ms: int) -> None:
        """Forgets a partition's ids, which another node coordinates now. Requests that wait hear NOT_COORDINATOR."""
        self.shards.pop(partition, None)
        self.abandon_appends(partition, now_ms)
        for transactional_id in [each for each in self.transactions if self.partition_of(each) == partition]:
            del self.transactions[transactional_id]
