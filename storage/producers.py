"""Producer state of a partition: recent batches for duplicate detection, next sequence numbers, transactions.

Source: KIP-98, KIP-360, KIP-890; Kafka's `ProducerStateManager`, `ProducerStateEntry`, `ProducerAppendInfo`.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from kohort.protocol.batches import CONTROL, NO_EPOCH, NO_PRODUCER, TRANSACTIONAL, BatchInfo, read_marker
from kohort.protocol.errors import ErrorCode
from kohort.storage.transactions import Transactions

# A producer has at most five requests in flight, so older batches are never retried (`ProducerStateEntry`).
BATCHES_REMEMBERED = 5

# A producer gets a new id after this epoch; the marker of its last transaction cannot have a larger one.
LARGEST_EPOCH = 2**15 - 1

_SEQUENCE_END = 2**31


class Remembered(NamedTuple):
    """An appended batch."""

    first_sequence: int
    last_sequence: int
    base_offset: int
    max_timestamp: int


@dataclass(slots=True, eq=False, repr=False)
class _Producer:
    """Latest state of a producer."""

    epoch: int
    batches: tuple[Remembered, ...]
    last_append_ms: int
    last_timestamp: int  # timestamp of its last batch or marker
    coordinator_epoch: int = -1  # coordinator epoch of the last marker, or -1


@dataclass(slots=True, eq=False, repr=False)
class _Verified:
    """A transaction that a producer is about to start in this partition."""

    epoch: int
    lowest_sequence: int
    # Whether each transaction has a new epoch (KIP-890), so that sequence 0 comes first in a partition without records.
    begins_with_0: bool
    asked_ms: int


class Described(NamedTuple):
    """A producer in the form of DescribeProducers; -1 means unknown."""

    producer_id: int
    epoch: int
    last_sequence: int
    last_timestamp: int
    coordinator_epoch: int
    first_offset: int  # start of the open transaction


def last_sequence(first_sequence: int, count: int) -> int:
    """Return the sequence number of the last of `count` records; 0 follows the largest int."""
    return (first_sequence + count - 1) % _SEQUENCE_END


class Producers:
    """The idempotent and transactional producers of one partition."""

    __slots__ = ("_expiration_ms", "_producers", "_verified", "transactions")

    def __init__(self, expiration_ms: int = 86_400_000) -> None:
        """Create empty state.

        Args:
            expiration_ms: Producers without appends for this time are removed (`producer.id.expiration.ms`).
        """
        self._expiration_ms = expiration_ms
        self._producers: dict[int, _Producer] = {}
        self._verified: dict[int, _Verified] = {}
        self.transactions = Transactions()

    def __len__(self) -> int:
        """Return the number of producers."""
        return len(self._producers)

    def find_duplicate(self, producer_id: int, epoch: int, first_sequence: int, count: int) -> Remembered | None:
        """Return the appended batch with the same sequence numbers, whose response is repeated."""
        producer = self._producers.get(producer_id)
        if producer is None or producer.epoch != epoch:
            return None
        last = last_sequence(first_sequence, count)
        for batch in producer.batches:
            if batch.first_sequence == first_sequence and batch.last_sequence == last:
                return batch
        return None

    def verifying(
        self, producer_id: int, epoch: int, first_sequence: int, wall_ms: int, *, begins_with_0: bool
    ) -> None:
        """Record that a transaction is about to start with a batch, which can still be rejected.

        Until something of the transaction is appended, no later batch may come first. Source: KIP-890; Kafka's
        `VerificationStateEntry`.
        """
        producer = self._verified.get(producer_id)
        if producer is None:
            self._verified[producer_id] = _Verified(epoch, first_sequence, begins_with_0, wall_ms)
        elif epoch > producer.epoch:
            producer.epoch, producer.lowest_sequence = epoch, first_sequence  # whether 0 comes first stays as it was
        elif epoch == producer.epoch:
            producer.lowest_sequence = min(producer.lowest_sequence, first_sequence)

    def check(
        self, producer_id: int, epoch: int, first_sequence: int, *, transactional: bool | None = None
    ) -> ErrorCode:
        """Return whether a batch that is not a duplicate may be appended.

        A producer without state may start with any sequence number, because its earlier records may have been deleted
        by retention. But a rejected batch stays the first one of its transaction (`verifying`).

        Returns:
            INVALID_PRODUCER_EPOCH for an older epoch, OUT_OF_ORDER_SEQUENCE_NUMBER for a gap, INVALID_TXN_STATE for a
            batch outside of the producer's open transaction.
        """
        producer = self._producers.get(producer_id)
        if producer is not None and epoch < producer.epoch:
            return ErrorCode.invalid_producer_epoch
        verified = self._verified.get(producer_id)
        is_first = producer is None or not producer.batches
        if verified is not None and (
            first_sequence > verified.lowest_sequence or (verified.begins_with_0 and is_first and first_sequence)
        ):
            return ErrorCode.out_of_order_sequence_number
        if producer is None:
            return ErrorCode.none
        batches = producer.batches if epoch == producer.epoch else ()
        expected = (batches[-1].last_sequence + 1) % _SEQUENCE_END if batches else 0
        if first_sequence != expected:
            return ErrorCode.out_of_order_sequence_number
        if transactional is False and self.transactions.first_offset(producer_id) is not None:
            return ErrorCode.invalid_txn_state
        return ErrorCode.none

    def check_epoch(
        self, producer_id: int, epoch: int, coordinator_epoch: int | None = None, *, bumped: bool = False
    ) -> ErrorCode:
        """Return whether a coordinator's batch or a marker, which have no sequence number, may be appended.

        Args:
            bumped: The marker ends a transaction of the protocol in which each end bumps the epoch. A delayed marker of
                the previous transaction has the epoch of the currently open one and must not end that (KIP-890,
                KIP-1228). Without an open transaction it is a repeated marker and harmless.

        Returns:
            INVALID_PRODUCER_EPOCH, or TRANSACTION_COORDINATOR_FENCED for the marker of a replaced coordinator.
        """
        producer = self._producers.get(producer_id)
        if producer is None:
            return ErrorCode.none if epoch >= NO_EPOCH else ErrorCode.invalid_producer_epoch
        is_delayed = bumped and epoch == producer.epoch != LARGEST_EPOCH
        if epoch < producer.epoch or (is_delayed and self.transactions.first_offset(producer_id) is not None):
            return ErrorCode.invalid_producer_epoch
        if coordinator_epoch is not None and coordinator_epoch < producer.coordinator_epoch:
            return ErrorCode.transaction_coordinator_fenced
        return ErrorCode.none

    def knows_later_epoch(self, producer_id: int, epoch: int) -> bool:
        """Return whether a producer has written here in a later epoch."""
        producer = self._producers.get(producer_id)
        return producer is not None and epoch < producer.epoch

    def is_in_transaction(self, producer_id: int, epoch: int) -> bool:
        """Return whether this epoch of a producer has an open transaction here.

        If so, the transaction coordinator need not be called.
        """
        producer = self._producers.get(producer_id)
        return (
            producer is not None and producer.epoch == epoch and self.transactions.first_offset(producer_id) is not None
        )

    def appended(
        self, producer_id: int, epoch: int, batch: Remembered, wall_ms: int, *, transactional: bool = False
    ) -> None:
        """Record a batch that has passed `check` and was appended."""
        # Taken out and put in again, so that the dict is in the order of the last append and `expire` need not search.
        producer = self._producers.pop(producer_id, None)
        batches = producer.batches if producer is not None and producer.epoch == epoch else ()
        if batch.first_sequence >= 0:
            batches = (*batches, batch)[-BATCHES_REMEMBERED:]
        coordinator_epoch = -1 if producer is None else producer.coordinator_epoch
        self._producers[producer_id] = _Producer(epoch, batches, wall_ms, batch.max_timestamp, coordinator_epoch)
        if transactional:
            self._verified.pop(producer_id, None)
            self.transactions.begin(producer_id, batch.base_offset)

    def ended(
        self, producer_id: int, epoch: int, offset: int, coordinator_epoch: int, wall_ms: int, *, committed: bool
    ) -> None:
        """Record a marker that has passed `check_epoch` and was appended.

        A higher epoch restarts the sequence numbers.
        """
        self._verified.pop(producer_id, None)
        producer = self._producers.pop(producer_id, None)
        batches = producer.batches if producer is not None and producer.epoch == epoch else ()
        self._producers[producer_id] = _Producer(epoch, batches, wall_ms, wall_ms, coordinator_epoch)
        self.transactions.end(producer_id, offset, committed=committed)

    def replay(self, data: bytes | memoryview, batch: BatchInfo) -> None:
        """Record a batch of a log that was read from disk, as if it were appended.

        Raises:
            DecodeError: A control batch cannot be read.
        """
        if batch.producer_id <= NO_PRODUCER:
            return
        if batch.attributes & CONTROL:
            marker = read_marker(data, batch)
            if marker is not None:
                self.ended(
                    batch.producer_id,
                    batch.producer_epoch,
                    batch.base_offset,
                    marker.coordinator_epoch,
                    batch.max_timestamp,
                    committed=marker.committed,
                )
            return
        # The header's last offset, not its count: compaction may have taken records out.
        last = last_sequence(batch.base_sequence, batch.last_offset_delta + 1) if batch.base_sequence >= 0 else -1
        self.appended(
            batch.producer_id,
            batch.producer_epoch,
            Remembered(batch.base_sequence, last, batch.base_offset, batch.max_timestamp),
            batch.max_timestamp,
            transactional=bool(batch.attributes & TRANSACTIONAL),
        )

    def described(self) -> Iterator[Described]:
        """Yield every producer with state."""
        for producer_id, producer in self._producers.items():
            first = self.transactions.first_offset(producer_id)
            last = producer.batches[-1] if producer.batches else None
            yield Described(
                producer_id,
                producer.epoch,
                -1 if last is None else last.last_sequence,
                producer.last_timestamp,
                producer.coordinator_epoch,
                -1 if first is None else first,
            )

    def last_batches(self) -> dict[int, tuple[int, int | None]]:
        """Return each producer's epoch and the offset of its last batch, or None if it wrote nothing in that epoch."""
        return {
            producer_id: (producer.epoch, producer.batches[-1].base_offset if producer.batches else None)
            for producer_id, producer in self._producers.items()
        }

    def expire(self, wall_ms: int) -> int:
        """Remove idle producers and return their number."""
        for producer_id in [
            verified_id
            for verified_id, verified in self._verified.items()
            if wall_ms - verified.asked_ms >= self._expiration_ms
        ]:
            del self._verified[producer_id]
        expired_ids = []
        for producer_id, producer in self._producers.items():
            if wall_ms - producer.last_append_ms < self._expiration_ms:
                break
            if self.transactions.first_offset(producer_id) is None:
                expired_ids.append(producer_id)
        for producer_id in expired_ids:
            del self._producers[producer_id]
        return len(expired_ids)
