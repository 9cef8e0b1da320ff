"""Keys and values of `__transaction_state` in Kafka's format (`TransactionLogKey`, `TransactionLogValue`).

Values are written in version 1 with its tagged fields (KIP-890, KIP-915), and read in versions 0 and 1.
"""

import struct

from kohort.coordinator.offsets.offsets_topic_records import RecordReader, UnreadableRecord
from kohort.coordinator.transactions.transaction import BY_NUMBER, NO_PRODUCER, NUMBERS, State, Transaction
from kohort.protocol.topic_partition import TopicPartition
from kohort.protocol.wire import compact_length, compact_string, tag, unsigned_varint

_SHORT = struct.Struct(">h")
_INT = struct.Struct(">i")
_LONG = struct.Struct(">q")
_START = struct.Struct(">hqhib")
_TIMES = struct.Struct(">qq")

PREVIOUS_PRODUCER_ID, NEXT_PRODUCER_ID, CLIENT_VERSION = 0, 1, 2  # tags of version 1


def transaction_key(transactional_id: str) -> bytes:
    raw = transactional_id.encode()
    return _SHORT.pack(0) + _SHORT.pack(len(raw)) + raw


def transaction_value(transaction: Transaction) -> bytes:
    """Return a value of version 1. As in Kafka, empty partitions are null without a transaction, else an empty list."""
    start = _START.pack(
        1,
        transaction.producer_id,
        transaction.producer_epoch,
        transaction.timeout_ms,
        NUMBERS[transaction.state],
    )
    parts = [start]
    if transaction.state is State.EMPTY:
        parts.append(b"\x00")
    else:
        by_topic: dict[str, list[int]] = {}
        for topic, partition in sorted(transaction.partitions):
            by_topic.setdefault(topic, []).append(partition)
        parts.append(compact_length(len(by_topic)))
        for topic, partitions in by_topic.items():
            parts += compact_string(topic), compact_length(len(partitions)), *map(_INT.pack, partitions), b"\x00"
    parts += _TIMES.pack(transaction.updated_ms, transaction.started_ms), _tags(transaction)
    return b"".join(parts)


def _tags(transaction: Transaction) -> bytes:
    tags = []
    if transaction.previous_producer_id != NO_PRODUCER:
        tags.append(tag(PREVIOUS_PRODUCER_ID, _LONG.pack(transaction.previous_producer_id)))
    if transaction.next_producer_id != NO_PRODUCER:
        tags.append(tag(NEXT_PRODUCER_ID, _LONG.pack(transaction.next_producer_id)))
    if transaction.client_version:
        tags.append(tag(CLIENT_VERSION, _SHORT.pack(transaction.client_version)))
    return unsigned_varint(len(tags)) + b"".join(tags)


def read_transaction_key(key: bytes) -> str | None:
    """Return the transactional id, or None for an unknown type of key. Raises UnreadableRecord."""
    reader = RecordReader(key)
    return reader.string() if reader.int16() == 0 else None


def read_transaction_value(transactional_id: str, value: bytes) -> Transaction:
    reader = RecordReader(value)
    version = reader.int16()
    if not 0 <= version <= 1:
        raise UnreadableRecord(f"unsupported version {version} of a transaction; expected 0 or 1")
    producer_id, epoch, timeout_ms, number = reader.int64(), reader.int16(), reader.int32(), reader.int8()
    if not 0 <= number < len(BY_NUMBER):
        raise UnreadableRecord(f"unknown state {number} of a transaction; expected 0 to {len(BY_NUMBER) - 1}")
    partitions = _partitions(reader, version)
    updated_ms, started_ms = reader.int64(), reader.int64()
    tags = reader.tags() if version >= 1 else {}
    return Transaction(
        transactional_id=transactional_id,
        producer_id=producer_id,
        producer_epoch=epoch,
        previous_producer_id=_number(tags, PREVIOUS_PRODUCER_ID, NO_PRODUCER),
        next_producer_id=_number(tags, NEXT_PRODUCER_ID, NO_PRODUCER),
        timeout_ms=timeout_ms,
        state=BY_NUMBER[number],
        partitions=partitions,
        started_ms=started_ms,
        updated_ms=updated_ms,
        client_version=_number(tags, CLIENT_VERSION, 0),
    )


def _number(tags: dict[int, bytes], number: int, default: int) -> int:
    return int.from_bytes(tags[number], "big", signed=True) if number in tags else default


def _partitions(reader: RecordReader, version: int) -> frozenset[TopicPartition]:
    partitions = set()
    for _ in range(reader.uvarint() - 1 if version else reader.int32()):
        topic = reader.compact_string() if version else reader.string()
        for _ in range(reader.uvarint() - 1 if version else reader.int32()):
            partitions.add((topic, reader.int32()))
        if version:
            reader.tags()
    return frozenset(partitions)
