"""AddPartitionsToTxn and AddOffsetsToTxn: adding partitions to a transaction, and verifying that it contains them."""

from kohort.coordinator.context import OnWritten
from kohort.coordinator.transactions.transaction import ENDING, OVER, Partitions, State, Transaction
from kohort.coordinator.transactions.transaction_coordinator import TransactionCoordinator
from kohort.protocol.errors import ErrorCode
from kohort.protocol.topic_partition import TopicPartition


def add_partitions(
    coordinator: TransactionCoordinator,
    transactional_id: str,
    producer_id: int,
    producer_epoch: int,
    partitions: Partitions,
    on_written: OnWritten,
    now_ms: int,
    client_version: int = 0,
) -> None:
    """Add partitions to the transaction, which the first ones start.

    `on_written` is called at once or later. Errors, in this order: INVALID_REQUEST for an empty id, NOT_COORDINATOR,
    COORDINATOR_LOAD_IN_PROGRESS, CONCURRENT_TRANSACTIONS, INVALID_PRODUCER_ID_MAPPING, PRODUCER_FENCED.
    """
    transaction = _find(coordinator, transactional_id)
    if isinstance(transaction, ErrorCode):
        return on_written(transaction, now_ms)
    if transaction.is_in_transition:
        return on_written(ErrorCode.concurrent_transactions, now_ms)
    if (error := _refusal(transaction, producer_id, producer_epoch)) is not None:
        return on_written(error, now_ms)
    if transaction.state is State.ONGOING and partitions <= transaction.partitions:
        return on_written(ErrorCode.none, now_ms)
    coordinator.write(
        transaction,
        on_written,
        now_ms,
        state=State.ONGOING,
        partitions=transaction.partitions | partitions,
        started_ms=coordinator.wall_ms(now_ms) if transaction.state in OVER else transaction.started_ms,
        client_version=client_version,
    )
    return None


def verify_partitions(
    coordinator: TransactionCoordinator,
    transactional_id: str,
    producer_id: int,
    producer_epoch: int,
    partitions: Partitions,
) -> dict[TopicPartition, ErrorCode]:
    """Return NONE for each partition of the transaction and TRANSACTION_ABORTABLE for each other one (KIP-890).

    Other errors apply to every partition, as in `add_partitions`.
    """
    transaction = _find(coordinator, transactional_id)
    if isinstance(transaction, ErrorCode):
        return dict.fromkeys(partitions, transaction)
    error = _refusal(transaction, producer_id, producer_epoch)
    if error is None and transaction.state in ENDING:
        error = ErrorCode.concurrent_transactions
    if error is not None:
        return dict.fromkeys(partitions, error)
    added = transaction.partitions
    return {tp: ErrorCode.none if tp in added else ErrorCode.transaction_abortable for tp in partitions}


def _find(coordinator: TransactionCoordinator, transactional_id: str) -> Transaction | ErrorCode:
    if not transactional_id:
        return ErrorCode.invalid_request
    transaction = coordinator.find(transactional_id)
    return ErrorCode.invalid_producer_id_mapping if transaction is None else transaction


def _refusal(transaction: Transaction, producer_id: int, producer_epoch: int) -> ErrorCode | None:
    if transaction.producer_id != producer_id:
        return ErrorCode.invalid_producer_id_mapping
    if transaction.producer_epoch != producer_epoch:
        return ErrorCode.producer_fenced
    return None
