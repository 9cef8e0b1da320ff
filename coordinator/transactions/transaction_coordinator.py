"""The transaction coordinator of a node: its transactional ids, and the effects that it requests.

A decision is first written to `__transaction_state`, and is valid once it is written. Until then the transaction has a
pending state, and requests receive CONCURRENT_TRANSACTIONS. Source: Kafka's `TransactionStateManager`.
"""

from collections.abc import Callable
from dataclasses import fields, replace
from typing import Any

from kohort.coordinator.context import CoordinatorContext, OnWritten, Shard
from kohort.coordinator.effects import TRANSACTION_TOPIC, Append, Effect, WriteMarkers
from kohort.coordinator.groups.group_placement import partition_for
from kohort.coordinator.transactions.transaction import Transaction
from kohort.coordinator.transactions.transaction_records import transaction_key, transaction_value
from kohort.coordinator.transactions.transaction_settings import TransactionSettings
from kohort.protocol.batches import EncodedRecords, Marker, encode_record
from kohort.protocol.errors import ErrorCode
from kohort.purgatory import Purgatory

_FIELDS = tuple(field.name for field in fields(Transaction) if field.name not in ("transactional_id", "pending"))


class TransactionCoordinator(CoordinatorContext):
    """The transactional ids of a node."""

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
        """Create a coordinator without partitions.

        Args:
            new_producer_id: Allocates a producer id that is new in the cluster.
        """
        super().__init__(purgatory, partitions=partitions, epoch_ms=epoch_ms, effects=effects)
        self.settings = settings
        self.new_producer_id = new_producer_id
        self.transactions: dict[str, Transaction] = {}
        self.shards: dict[int, tuple[Shard, int]] = {}  # by partition: state of loading, and leader epoch of this node

    def partition_of(self, transactional_id: str) -> int:
        return partition_for(transactional_id, self.partitions)

    def find(self, transactional_id: str) -> Transaction | ErrorCode | None:
        """Return a transactional id, if it exists, or NOT_COORDINATOR or COORDINATOR_LOAD_IN_PROGRESS."""
        shard = self.shards.get(self.partition_of(transactional_id))
        if shard is None:
            return ErrorCode.not_coordinator
        if shard[0] is Shard.LOADING:
            return ErrorCode.coordinator_load_in_progress
        return self.transactions.get(transactional_id)

    def write(self, transaction: Transaction, on_written: OnWritten, now_ms: int, **changes: Any) -> None:
        """Write the transaction with `changes`, apply them once that is written, then call `on_written`."""
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
        self._append(transaction.transactional_id, None, on_written, now_ms)

    def _append(self, transactional_id: str, value: bytes | None, on_written: OnWritten, now_ms: int) -> None:
        record = encode_record(transaction_key(transactional_id), value, 0)
        partition = self.partition_of(transactional_id)
        token = self.await_write(partition, on_written)
        records = EncodedRecords(record, 1)
        self.effects.append(Append(token, partition, records, self.wall_ms(now_ms), TRANSACTION_TOPIC))

    def write_markers(self, transaction: Transaction, committed: bool, on_written: OnWritten) -> None:
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
        """Remove the ids of a partition that this node no longer leads. Waiting requests receive NOT_COORDINATOR."""
        self.shards.pop(partition, None)
        self.abandon_appends(partition, now_ms)
        for transactional_id in [key for key in self.transactions if self.partition_of(key) == partition]:
            del self.transactions[transactional_id]
