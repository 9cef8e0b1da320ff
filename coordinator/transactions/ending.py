"""EndTxn, and transactions that the coordinator ends: write the decision, the markers, then the completion.

Since KIP-890 every transaction that ends increments the producer's epoch, so that a late message of the old transaction
cannot become part of the next one. Source: Kafka's `TransactionCoordinator.endTransaction`.
"""

from kohort.coordinator.transactions.transaction import (
    LAST_EPOCH,
    NO_PRODUCER,
    NO_RESULT,
    WITH_EPOCH_BUMP,
    OnProducer,
    Producer,
    State,
    Transaction,
)
from kohort.coordinator.transactions.transaction_coordinator import TransactionCoordinator
from kohort.protocol.errors import ErrorCode
from kohort.purgatory import DelayedOperation

# Errors with which a partition rejects a marker permanently.
REFUSED_FOR_GOOD = (ErrorCode.invalid_producer_epoch, ErrorCode.transaction_coordinator_fenced)

FINISH_AGAIN_AFTER_MS = 1_000  # delay before a transaction is completed whose completion could not be written


def end_transaction(
    coordinator: TransactionCoordinator,
    transactional_id: str,
    producer_id: int,
    producer_epoch: int,
    committed: bool,
    client_version: int,
    on_producer: OnProducer,
    now_ms: int,
) -> None:
    """End a client's transaction. `on_producer` is called when the decision is written, before the markers are.

    Errors, in this order: INVALID_REQUEST for an empty id, NOT_COORDINATOR, COORDINATOR_LOAD_IN_PROGRESS,
    INVALID_PRODUCER_ID_MAPPING, PRODUCER_FENCED, CONCURRENT_TRANSACTIONS, INVALID_TXN_STATE.
    """
    if not transactional_id:
        return on_producer(ErrorCode.invalid_request, NO_RESULT)
    transaction = coordinator.find(transactional_id)
    if isinstance(transaction, ErrorCode):
        return on_producer(transaction, NO_RESULT)
    if transaction is None:
        return on_producer(ErrorCode.invalid_producer_id_mapping, NO_RESULT)
    bumps = client_version >= WITH_EPOCH_BUMP
    repeated = bumps and _is_repeated(transaction, producer_id, producer_epoch)
    error = _refusal(transaction, producer_id, producer_epoch, bumps=bumps, repeated=repeated)
    if error is None:
        error = _BUMPING(transaction, committed, repeated) if bumps else _PLAIN(transaction, committed)
    if error is ErrorCode.none:
        return on_producer(error, Producer(transaction.producer_id, transaction.producer_epoch))
    if error is not None:
        return on_producer(error, NO_RESULT)
    _prepare(coordinator, transaction, committed, client_version, on_producer, now_ms)
    return None


def _is_repeated(transaction: Transaction, producer_id: int, epoch: int) -> bool:
    """Return whether this was decided before, and the client missed the response: its epoch is one behind."""
    if transaction.producer_id == producer_id:
        return transaction.producer_epoch == epoch + 1
    return transaction.previous_producer_id == producer_id and epoch == LAST_EPOCH and transaction.producer_epoch == 0


def _refusal(
    transaction: Transaction, producer_id: int, epoch: int, *, bumps: bool, repeated: bool
) -> ErrorCode | None:
    if bumps and transaction.is_in_transition:
        return ErrorCode.concurrent_transactions
    if transaction.producer_id != producer_id and not repeated:
        return ErrorCode.invalid_producer_id_mapping
    same = epoch == transaction.producer_epoch
    if not same and not (repeated and transaction.state in (State.COMPLETE_COMMIT, State.COMPLETE_ABORT)):
        return ErrorCode.producer_fenced
    return ErrorCode.concurrent_transactions if transaction.is_in_transition else None


def _PLAIN(transaction: Transaction, committed: bool) -> ErrorCode | None:  # noqa: N802 - read as a table
    """Return the error of the transaction's state, or None if the transaction has to be ended."""
    match transaction.state:
        case State.ONGOING:
            return None
        case State.COMPLETE_COMMIT if committed:
            return ErrorCode.none
        case State.COMPLETE_ABORT if not committed:
            return ErrorCode.none
    return ErrorCode.invalid_txn_state


def _BUMPING(transaction: Transaction, committed: bool, repeated: bool) -> ErrorCode | None:  # noqa: N802
    """Return the error like `_PLAIN`, for versions in which each end increments the epoch.

    A request that is not a repetition is a decision of its own. A transaction that wrote nothing can be aborted, not
    committed: the client may not know whether it wrote something.
    """
    if transaction.state in (State.COMPLETE_COMMIT, State.COMPLETE_ABORT, State.EMPTY) and not repeated:
        return ErrorCode.invalid_txn_state if committed else None
    return _PLAIN(transaction, committed)


def fence(coordinator: TransactionCoordinator, transaction: Transaction, on_producer: OnProducer, now_ms: int) -> None:
    """Abort an open transaction and fence its producer."""
    _prepare(coordinator, transaction, False, WITH_EPOCH_BUMP, on_producer, now_ms, fencing=True)


def _prepare(
    coordinator: TransactionCoordinator,
    transaction: Transaction,
    committed: bool,
    client_version: int,
    on_producer: OnProducer,
    now_ms: int,
    *,
    fencing: bool = False,
) -> None:
    bumps = client_version >= WITH_EPOCH_BUMP
    next_producer_id = NO_PRODUCER
    if bumps and not fencing and transaction.is_epoch_exhausted:
        next_producer_id = coordinator.new_producer_id()
    has_begun = transaction.state is State.ONGOING

    def prepared(error: ErrorCode, now_ms: int) -> None:
        if error is not ErrorCode.none:
            on_producer(error, NO_RESULT)
            return
        rotated = next_producer_id != NO_PRODUCER
        producer = (
            Producer(next_producer_id, 0) if rotated else Producer(transaction.producer_id, transaction.producer_epoch)
        )
        on_producer(error, producer)
        finish(coordinator, transaction, now_ms)

    coordinator.write(
        transaction,
        prepared,
        now_ms,
        state=State.PREPARE_COMMIT if committed else State.PREPARE_ABORT,
        producer_epoch=transaction.producer_epoch + 1 if bumps else transaction.producer_epoch,
        last_producer_epoch=transaction.producer_epoch if bumps else transaction.last_producer_epoch,
        previous_producer_id=transaction.producer_id,
        next_producer_id=next_producer_id,
        started_ms=transaction.started_ms if has_begun else coordinator.wall_ms(now_ms),
        client_version=client_version,
    )


def finish(coordinator: TransactionCoordinator, transaction: Transaction, now_ms: int) -> None:
    """Write the markers of a decided transaction, then its completion.

    As in Kafka, a failed write is retried later, because no other node would do it. A partition that has a later epoch,
    from a marker that no coordinator has sent, rejects the marker permanently. Then the transaction stays as it is
    until it has another coordinator (Kafka: `TransactionMarkerRequestCompletionHandler`).
    """
    committed = transaction.state is State.PREPARE_COMMIT

    def written(error: ErrorCode, now_ms: int) -> None:
        if error is not ErrorCode.none:
            coordinator.purgatory.wait(_FinishLater(coordinator, transaction, now_ms))

    def marked(error: ErrorCode, now_ms: int) -> None:
        if error in REFUSED_FOR_GOOD:
            return None
        if error is not ErrorCode.none:
            return written(error, now_ms)
        rotated = transaction.next_producer_id != NO_PRODUCER
        coordinator.write(
            transaction,
            written,
            now_ms,
            state=State.COMPLETE_COMMIT if committed else State.COMPLETE_ABORT,
            producer_id=transaction.next_producer_id if rotated else transaction.producer_id,
            producer_epoch=0 if rotated else transaction.producer_epoch,
            previous_producer_id=transaction.producer_id,
            next_producer_id=NO_PRODUCER,
            partitions=frozenset(),
        )
        return None

    coordinator.write_markers(transaction, committed, marked)


class _FinishLater(DelayedOperation):
    """The next attempt to finish a transaction, unless another node coordinates it by then."""

    __slots__ = ("_coordinator", "_transaction")

    def __init__(self, coordinator: TransactionCoordinator, transaction: Transaction, now_ms: int) -> None:
        super().__init__(now_ms + FINISH_AGAIN_AFTER_MS)
        self._coordinator = coordinator
        self._transaction = transaction

    def on_complete(self, now_ms: int, *, expired: bool) -> None:
        transaction = self._coordinator.transactions.get(self._transaction.transactional_id)
        if transaction is self._transaction and transaction.state in (State.PREPARE_COMMIT, State.PREPARE_ABORT):
            finish(self._coordinator, transaction, now_ms)
