"""The transaction coordinator of one node: its transactional ids, and what it asks of the shell.

What is decided is written to `__transaction_state` first, and counts once it is written; meanwhile the transaction has
a pending state, and whoever asks hears CONCURRENT_TRANSACTIONS. Source: Kafka's `TransactionStateManager`.
"""

from collections.abc import Callable
from dataclasses import fields, replace
from typing import Any

from kohort.coordinator.coordinator import STORAGE_ERRORS, Shard
from kohort.coordinator.effects import TRANSACTION_TOPIC, Append, Effect, WriteMarkers
from kohort.coordinator.placement import partition_for
from kohort.coordinator.transactions.records import transaction_key, transaction_value
from kohort.coordinator.transactions.settings import TransactionSettings
from kohort.coordinator.transactions.transaction import Transaction
from kohort.protocol.batches import EncodedRecords, Marker, encode_record
from kohort.protocol.errors import ErrorCode
from kohort.purgatory import Purgatory

Then = Callable[[ErrorCode, int], None]
"""What follows a write: NONE or the error as a client may hear it, and the time."""

_FIELDS = tuple(each.name for each in fields(Transaction) if each.name not in ("transactional_id", "pending"))


class TransactionCoordinator:
    """All of one node's transactional ids. Pure: it is told the time, and puts what it wants done into `effects`."""

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
        """`new_producer_id`: ids that no producer of the cluster has had. `epoch_ms`: the wall clock at monotonic 0.

        `effects`: where to put what is to be done; a node's two coordinators share one list.
        """
        self.settings = settings
        self.purgatory = purgatory
        self.new_producer_id = new_producer_id
        self.partitions = partitions
        """How many `__transaction_state` has."""
        self.epoch_ms = epoch_ms
        self.effects: list[Effect] = [] if effects is None else effects
        self.transactions: dict[str, Transaction] = {}
        self.shards: dict[int, tuple[Shard, int]] = {}
        """How far this node is with the partitions it leads, and its epoch as their leader."""
        self._awaited: dict[int, tuple[int, Then]] = {}
        self._last_token = 0

    def wall_ms(self, now_ms: int) -> int:
        """The wall clock at a monotonic moment."""
        return now_ms + self.epoch_ms

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

    def write(self, transaction: Transaction, then: Then, now_ms: int, **changes: Any) -> None:
        """Writes the transaction with `changes` made, and makes them once that is written; then calls `then`."""
        target = replace(transaction, updated_ms=self.wall_ms(now_ms), **changes)
        transaction.pending = target.state

        def written(error: ErrorCode, now_ms: int) -> None:
            transaction.pending = None
            if error is ErrorCode.none:
                for name in _FIELDS:
                    setattr(transaction, name, getattr(target, name))
            then(error, now_ms)

        self._append(transaction.transactional_id, transaction_value(target), written, now_ms)

    def forget(self, transaction: Transaction, then: Then, now_ms: int) -> None:
        """Writes a tombstone for the id."""
        self._append(transaction.transactional_id, None, then, now_ms)

    def _append(self, transactional_id: str, value: bytes | None, then: Then, now_ms: int) -> None:
        record = encode_record(transaction_key(transactional_id), value, 0)
        partition = self.partition_of(transactional_id)
        self._last_token = token = self._last_token + 1
        self._awaited[token] = partition, then
        records = EncodedRecords(record, 1)
        self.effects.append(Append(token, partition, records, self.wall_ms(now_ms), TRANSACTION_TOPIC))

    def write_markers(self, transaction: Transaction, committed: bool, then: Then) -> None:
        """Has the end of a transaction written to each of its partitions."""
        partition = self.partition_of(transaction.transactional_id)
        self._last_token = token = self._last_token + 1
        self._awaited[token] = partition, then
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

    def appended(self, token: int, error: ErrorCode, now_ms: int) -> None:
        """The shell's word that an `Append` or the markers are written (NONE), or the storage's error."""
        awaited = self._awaited.pop(token, None)
        if awaited is not None:  # else its partition has gone meanwhile, and whoever waited has been told
            told = error if error is ErrorCode.none else STORAGE_ERRORS.get(error, ErrorCode.unknown_server_error)
            awaited[1](told, now_ms)

    def unload(self, partition: int, now_ms: int) -> None:
        """Somebody else coordinates the partition's ids now: who waits is sent there, and the ids are forgotten."""
        self.shards.pop(partition, None)
        for token in [token for token, (where, _) in self._awaited.items() if where == partition]:
            self._awaited.pop(token)[1](ErrorCode.not_coordinator, now_ms)
        for transactional_id in [each for each in self.transactions if self.partition_of(each) == partition]:
            del self.transactions[transactional_id]
