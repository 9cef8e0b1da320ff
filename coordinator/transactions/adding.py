"""AddPartitionsToTxn and AddOffsetsToTxn: what a transaction is going to write to; and asking whether it said so."""

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
    """Adds partitions to the transaction, which begins with the first ones. `on_written` is called at once or later.

    Refusals, in this order: INVALID_REQUEST for an empty id, NOT_COORDINATOR, COORDINATOR_LOAD_IN_PROGRESS,
    CONCURRENT_TRANSACTIONS, INVALID_PRODUCER_ID_MAPPING, PRODUCER_FENCED.
    """
    found = _find(coordinator, transactional_id)
    if isinstance(found, ErrorCode):
        return on_written(found, now_ms)
    if found.is_in_transition:
        return on_written(ErrorCode.concurrent_transactions, now_ms)
    if (refused := _refusal(found, producer_id, producer_epoch)) is not None:
        return on_written(refused, now_ms)
    if found.state is State.ONGOING and partitions <= found.partitions:
        return on_written(ErrorCode.none, now_ms)
    coordinator.write(
        found,
        on_written,
        now_ms,
        state=State.ONGOING,
        partitions=found.partitions | partitions,
        started_ms=coordinator.wall_ms(now_ms) if found.state in OVER else found.started_ms,
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
    """Whether partitions belong to the transaction (KIP-890): NONE, or TRANSACTION_ABORTABLE for one that does not.

    Other refusals are for all of them, as with `add_partitions`.
    """
    found = _find(coordinator, transactional_id)
    if isinstance(found, ErrorCode):
        return dict.fromkeys(partitions, found)
    refused = _refusal(found, producer_id, producer_epoch)
    if refused is None and found.state in ENDING:
        refused = ErrorCode.concurrent_transactions
    if refused is not None:
        return dict.fromkeys(partitions, refused)
    known = found.partitions
    return {each: ErrorCode.none if each in known else ErrorCode.transaction_abortable for each in partitions}


def _find(coordinator: TransactionCoordinator, transactional_id: str) -> Transaction | ErrorCode:
    if not transactional_id:
        return ErrorCode.invalid_request
    found = coordinator.find(transactional_id)
    return ErrorCode.invalid_producer_id_mapping if found is None else found


def _refusal(transaction: Transaction, producer_id: int, producer_epoch: int) -> ErrorCode | None:
    if transaction.producer_id != producer_id:
        return ErrorCode.invalid_producer_id_mapping
    if transaction.producer_epoch != producer_epoch:
        return ErrorCode.producer_fenced
    return None
