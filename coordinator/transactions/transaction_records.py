"""Keys and values of `__transaction_state` in Kafka's format (`TransactionLogKey`, `TransactionLogValue`).

Values are written in version 1 with its tagged fields (KIP-890, KIP-915), and read in versions 0 and 1.
"""

from kohort.coordinator.transactions.transaction import BY_NUMBER, NUMBERS, State, Transaction
from kohort.protocol.records.layouts import TRANSACTION, TRANSACTION_STATE
from kohort.protocol.records.record_reader import RecordReader, read_value
from kohort.protocol.records.record_writer import encode_key, encode_value
from kohort.protocol.records.schema import RecordError

_VERSION = 1


def transaction_key(transactional_id: str) -> bytes:
    return encode_key(TRANSACTION, (transactional_id,), TRANSACTION_STATE)


def transaction_value(transaction: Transaction) -> bytes:
    """Return a value of version 1. As in Kafka, empty partitions are null without a transaction, else an empty list."""
    by_topic: dict[str, list[int]] = {}
    for topic, partition in sorted(transaction.partitions):
        by_topic.setdefault(topic, []).append(partition)
    row = (
        transaction.producer_id,
        transaction.previous_producer_id,
        transaction.next_producer_id,
        transaction.producer_epoch,
        transaction.timeout_ms,
        NUMBERS[transaction.state],
        None if transaction.state is State.EMPTY else list(by_topic.items()),
        transaction.updated_ms,
        transaction.started_ms,
        transaction.client_version,
    )
    return encode_value(TRANSACTION, _VERSION, row, topic=TRANSACTION_STATE)


def read_transaction_key(key: bytes) -> str | None:
    """Return the transactional id, or None for an unknown type of key.

    Raises:
        RecordError: The bytes are truncated.
    """
    reader = RecordReader(key)
    return reader.string() if reader.int16() == TRANSACTION else None


def read_transaction_value(transactional_id: str, value: bytes) -> Transaction:
    """Return a transaction of any version.

    Raises:
        RecordError: The version or the state is unknown, or the bytes are truncated.
    """
    (
        producer_id,
        previous_producer_id,
        next_producer_id,
        producer_epoch,
        timeout_ms,
        number,
        topics,
        updated_ms,
        started_ms,
        client_version,
    ) = read_value(TRANSACTION_STATE.values[TRANSACTION][0], value)
    if not 0 <= number < len(BY_NUMBER):
        raise RecordError(f"unknown state {number} of a transaction; expected 0 to {len(BY_NUMBER) - 1}")
    return Transaction(
        transactional_id=transactional_id,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        previous_producer_id=previous_producer_id,
        next_producer_id=next_producer_id,
        timeout_ms=timeout_ms,
        state=BY_NUMBER[number],
        partitions=frozenset((topic, partition) for topic, partitions in topics or () for partition in partitions),
        started_ms=started_ms,
        updated_ms=updated_ms,
        client_version=client_version,
    )
