"""InitProducerId of a transactional id: one producer at a time, and the ones before it are fenced (KIP-98, KIP-360)."""

from kohort.coordinator.transactions.ending import fence
from kohort.coordinator.transactions.transaction import (
    LAST_EPOCH,
    NO_EPOCH,
    NO_PRODUCER,
    NOBODY,
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
    """Gives the id's producer its next epoch. `expected`: who the client thinks it is (KIP-360).

    `on_producer` is called once, at once or later.

    Refusals: INVALID_TRANSACTION_TIMEOUT, NOT_COORDINATOR, COORDINATOR_LOAD_IN_PROGRESS, CONCURRENT_TRANSACTIONS while
    something is being written, or after an open transaction was found, which is aborted; PRODUCER_FENCED.
    """
    if not 0 < timeout_ms <= coordinator.settings.transaction_max_timeout_ms:
        return on_producer(ErrorCode.invalid_transaction_timeout, NOBODY)
    found = coordinator.find(transactional_id)
    if isinstance(found, ErrorCode):
        return on_producer(found, NOBODY)
    if found is None:
        found = coordinator.transactions[transactional_id] = Transaction(
            transactional_id=transactional_id,
            producer_id=coordinator.new_producer_id(),
            timeout_ms=timeout_ms,
            updated_ms=coordinator.wall_ms(now_ms),
        )
    transaction = found
    if transaction.is_in_transition:
        return on_producer(ErrorCode.concurrent_transactions, NOBODY)
    if expected is not None and not _may_be(transaction, expected):
        return on_producer(ErrorCode.producer_fenced, NOBODY)
    if transaction.state is State.ONGOING:
        fence(coordinator, transaction, lambda error, _: on_producer(_once_more(error), NOBODY), now_ms)
        return None
    following = _following(coordinator, transaction, expected)
    if isinstance(following, ErrorCode):
        return on_producer(following, NOBODY)
    producer, last_epoch = following
    coordinator.write(
        transaction,
        lambda error, _: on_producer(error, producer if error is ErrorCode.none else NOBODY),
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


def _once_more(error: ErrorCode) -> ErrorCode:
    return ErrorCode.concurrent_transactions if error is ErrorCode.none else error


def _may_be(transaction: Transaction, expected: Producer) -> bool:
    """Whether the client's idea of itself can be right, or was before an answer that it never heard."""
    return (
        transaction.producer_epoch == NO_EPOCH
        or expected.producer_id == transaction.producer_id
        or (expected.producer_id == transaction.previous_producer_id and expected.epoch >= LAST_EPOCH)
    )


def _following(
    coordinator: TransactionCoordinator, transaction: Transaction, expected: Producer | None
) -> tuple[Producer, int] | ErrorCode:
    """The next producer, and the epoch before it that a repeated request would name."""
    epoch = transaction.producer_epoch
    if transaction.is_epoch_exhausted and (expected is None or expected.epoch == epoch):
        return Producer(coordinator.new_producer_id(), 0), NO_EPOCH if expected is None else epoch
    producer_id = transaction.producer_id
    if expected is None:
        return Producer(producer_id, epoch + 1), NO_EPOCH
    if epoch in (NO_EPOCH, expected.epoch):
        return Producer(producer_id, epoch + 1), epoch
    if expected.epoch == transaction.last_producer_epoch:
        return Producer(producer_id, epoch), expected.epoch  # it has been here before, and did not hear the answer
    return ErrorCode.producer_fenced
