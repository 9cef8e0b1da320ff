"""InitProducerId with a transactional id, which fences the earlier producers of the id (KIP-98, KIP-360)."""

from kohort.coordinator.transactions.ending import fence
from kohort.coordinator.transactions.transaction import (
    LAST_EPOCH,
    NO_EPOCH,
    NO_PRODUCER,
    NO_RESULT,
    NOT_BEGUN,
    OnProducer,
    Producer,
    State,
    Transaction,
)
from kohort.coordinator.transactions.transaction_coordinator import TransactionCoordinator
from kohort.protocol.errors import ErrorCode


def init_producer_id(
    coordinator: TransactionCoordinator,
    transactional_id: str,
    timeout_ms: int,
    expected: Producer | None,
    on_producer: OnProducer,
    now_ms: int,
) -> None:
    """Give the producer of the id its next epoch, and call `on_producer` once, at once or later.

    Errors: INVALID_TRANSACTION_TIMEOUT, NOT_COORDINATOR, COORDINATOR_LOAD_IN_PROGRESS, PRODUCER_FENCED, and
    CONCURRENT_TRANSACTIONS during a write or while an open transaction is being aborted.

    Args:
        expected: The client's current producer id and epoch (KIP-360).
    """
    if not 0 < timeout_ms <= coordinator.settings.transaction_max_timeout_ms:
        return on_producer(ErrorCode.invalid_transaction_timeout, NO_RESULT)
    entry = coordinator.find(transactional_id)
    if isinstance(entry, ErrorCode):
        return on_producer(entry, NO_RESULT)
    if entry is None:
        entry = coordinator.transactions[transactional_id] = Transaction(
            transactional_id=transactional_id,
            producer_id=coordinator.new_producer_id(),
            timeout_ms=timeout_ms,
            updated_ms=coordinator.wall_ms(now_ms),
        )
    transaction = entry
    if transaction.is_in_transition:
        return on_producer(ErrorCode.concurrent_transactions, NO_RESULT)
    if expected is not None and not _may_be(transaction, expected):
        return on_producer(ErrorCode.producer_fenced, NO_RESULT)
    if transaction.state is State.ONGOING:
        fence(coordinator, transaction, lambda error, _: on_producer(_retriable(error), NO_RESULT), now_ms)
        return None
    next_producer = _next_producer(coordinator, transaction, expected)
    if isinstance(next_producer, ErrorCode):
        return on_producer(next_producer, NO_RESULT)
    producer, last_epoch = next_producer
    coordinator.write(
        transaction,
        lambda error, _: on_producer(error, producer if error is ErrorCode.none else NO_RESULT),
        now_ms,
        state=State.EMPTY,
        timeout_ms=timeout_ms,
        producer_id=producer.producer_id,
        producer_epoch=producer.epoch,
        previous_producer_id=transaction.producer_id,
        next_producer_id=NO_PRODUCER,
        last_producer_epoch=last_epoch,
        partitions=frozenset(),
        started_ms=NOT_BEGUN,
    )
    return None


def _retriable(error: ErrorCode) -> ErrorCode:
    return ErrorCode.concurrent_transactions if error is ErrorCode.none else error


def _may_be(transaction: Transaction, expected: Producer) -> bool:
    """Return whether the client's producer is the current one, or was before a response that the client missed."""
    return (
        transaction.producer_epoch == NO_EPOCH
        or expected.producer_id == transaction.producer_id
        or (expected.producer_id == transaction.previous_producer_id and expected.epoch >= LAST_EPOCH)
    )


def _next_producer(
    coordinator: TransactionCoordinator, transaction: Transaction, expected: Producer | None
) -> tuple[Producer, int] | ErrorCode:
    """Return the next producer, and the epoch before it that a repeated request would contain."""
    epoch = transaction.producer_epoch
    if transaction.is_epoch_exhausted and (expected is None or expected.epoch == epoch):
        return Producer(coordinator.new_producer_id(), 0), NO_EPOCH if expected is None else epoch
    producer_id = transaction.producer_id
    if expected is None:
        return Producer(producer_id, epoch + 1), NO_EPOCH
    if epoch in (NO_EPOCH, expected.epoch):
        return Producer(producer_id, epoch + 1), epoch
    if expected.epoch == transaction.last_producer_epoch:
        return Producer(producer_id, epoch), expected.epoch  # repeated: the client missed the response
    return ErrorCode.producer_fenced
