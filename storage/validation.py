"""What Kafka checks before it stores what a producer sent, in its order.

Two steps: `only_batch` looks at the bytes, before anything is known of the partition; `check_batch` applies the topic's
settings. Records are not decoded unless a setting of the topic asks for it (compaction wants keys) or a refusal has to
name them. What Kafka finds by decoding every record (a body that does not match its header) is not found here.
Source: Kafka's `ProduceRequest.validateRecords`, `UnifiedLog.analyzeAndValidateRecords`, `LogValidator`; error codes,
texts and which refusals tell the log's start are those of Kafka 4.3.0.
"""

from dataclasses import dataclass

import google_crc32c

from kohort.protocol.batches import (
    CONTROL,
    HEADER_SIZE,
    LOG_APPEND_TIME,
    MAGIC,
    NO_PRODUCER,
    BatchInfo,
    crc_matches,
    read_batch,
)
from kohort.protocol.compression import Compression
from kohort.protocol.errors import DecodeError, ErrorCode
from kohort.storage.records import record_spans, records_of
from kohort.storage.topic_configs import LogConfig

_LOG_OVERHEAD = 12
_UP_TO_MAGIC = 17
_LEAST_RECORD_SIZE = 14

ZSTD_FROM = 7
"""The version of Produce from which on a batch may be compressed with zstd (KIP-110)."""

ERRORS_SHOWN = 3
"""Bad records that the error message names; the list of record errors has all of them."""


@dataclass(frozen=True, slots=True)
class Rejection:
    """Why a batch is not stored."""

    error_code: ErrorCode
    message: str | None = None
    tells_log_start: bool = False
    """Whether Kafka's answer carries the log's start offset with this refusal, instead of -1."""
    record_errors: tuple[tuple[int, str], ...] = ()
    """Number in the batch and what is wrong, for each bad record."""


_NO_RECORD = Rejection(ErrorCode.invalid_record)
_BAD_BATCH = Rejection(ErrorCode.invalid_record, tells_log_start=True)
_CORRUPT = Rejection(ErrorCode.corrupt_message)


def only_batch(records: bytes | None, version: int) -> tuple[bytes, BatchInfo] | Rejection:
    """The one batch that a Produce request of that version may carry per partition, and its header.

    Bytes behind it that are too few for another one are ignored, as in Kafka.
    """
    if records is None:
        return _NO_RECORD
    end = _batch_end(records, 0)
    if isinstance(end, Rejection):
        return end
    if end is None or records[_UP_TO_MAGIC - 1] != MAGIC:
        return _NO_RECORD
    if end < HEADER_SIZE:
        return _CORRUPT
    header = read_batch(records)
    if version < ZSTD_FROM and header.compression == Compression.ZSTD:
        return Rejection(ErrorCode.unsupported_compression_type)
    if end == len(records):
        return records, header
    another = _batch_end(records, end)
    if another is not None:
        return another if isinstance(another, Rejection) else _NO_RECORD
    return records[:end], header


def _batch_end(records: bytes, start: int) -> int | Rejection | None:
    """Where the batch ends that starts there; None: there is no whole one. Source: `ByteBufferLogInputStream`."""
    left = len(records) - start
    if left < _LOG_OVERHEAD:
        return None
    length = int.from_bytes(records[start + 8 : start + 12], "big", signed=True)
    if length < _LEAST_RECORD_SIZE:
        return Rejection(
            ErrorCode.corrupt_message,
            f"Record size {length} is less than the minimum record overhead ({_LEAST_RECORD_SIZE})",
        )
    if left < _UP_TO_MAGIC:
        return None
    magic = int.from_bytes(records[start + 16 : start + 17], "big", signed=True)
    if not 0 <= magic <= MAGIC:
        return Rejection(ErrorCode.corrupt_message, f"Invalid magic found in record: {magic}")
    return start + _LOG_OVERHEAD + length if _LOG_OVERHEAD + length <= left else None


def check_batch(batch: bytes, header: BatchInfo, config: LogConfig, where: str, wall_ms: int) -> Rejection | None:
    """Whether a batch may be stored in a log of this configuration. `where`: topic and partition, for the message."""
    if header.base_offset != 0:
        return _BAD_BATCH
    if len(batch) > config.max_message_bytes:
        return Rejection(ErrorCode.message_too_large)
    if not crc_matches(batch, header):
        return _CORRUPT
    if header.record_count <= 0 or header.record_count != header.last_offset_delta + 1:
        return _BAD_BATCH
    if header.attributes & CONTROL:
        return _BAD_BATCH
    if header.producer_id != NO_PRODUCER and header.base_sequence < 0:
        return _BAD_BATCH
    if config.compact:
        return _check_records(batch, header, config, where, wall_ms)
    if not config.log_append_time:
        return _check_times(header, config, wall_ms)
    return None


def _check_times(header: BatchInfo, config: LogConfig, wall_ms: int) -> Rejection | None:
    """By the times in the header: those of the records lie between them, unless the producer lies."""
    errors = []
    least, most = wall_ms - config.timestamp_before_max_ms, wall_ms + config.timestamp_after_max_ms
    for number, timestamp in ((0, header.base_timestamp), (header.last_offset_delta, header.max_timestamp)):
        if timestamp >= 0 and not least <= timestamp <= most:
            errors.append(
                (
                    number,
                    f"Timestamp {timestamp} of message with offset {number} is out of range. "
                    f"The timestamp should be within [{least}, {most}]",
                )
            )
            break
    if not errors:
        return None
    return Rejection(
        ErrorCode.invalid_timestamp,
        "One or more records have been rejected due to invalid timestamp",
        tells_log_start=True,
        record_errors=tuple(errors),
    )


def _check_records(batch: bytes, header: BatchInfo, config: LogConfig, where: str, wall_ms: int) -> Rejection | None:
    """A compacted topic takes only records with a key."""
    try:
        records = records_of(batch)
        if records is None:
            return Rejection(ErrorCode.unsupported_compression_type, tells_log_start=True)
        spans = record_spans(records)
    except DecodeError:
        return Rejection(ErrorCode.corrupt_message)
    if len(spans) != header.record_count:
        return _BAD_BATCH
    problem = f"Compacted topic cannot accept message without key in topic partition {where}"
    errors = tuple((number, problem) for number, (_, _, key, _) in enumerate(spans) if key is None)
    if not errors:
        return None if config.log_append_time else _check_times(header, config, wall_ms)
    shown = ", ".join(f"RecordError(batchIndex={number}, message='{text}')" for number, text in errors[:ERRORS_SHOWN])
    return Rejection(
        ErrorCode.invalid_record,
        f"One or more records have been rejected due to {len(errors)} record errors in total, and only showing the "
        f"first three errors at most: [{shown}]",
        tells_log_start=True,
        record_errors=errors,
    )


def with_log_append_time(batch: bytes, header: BatchInfo, wall_ms: int) -> bytes:
    """The batch with the broker's time on it (`message.timestamp.type=LogAppendTime`); its checksum is made anew."""
    attributes = header.attributes | LOG_APPEND_TIME
    covered = b"".join(
        (attributes.to_bytes(2, "big", signed=True), batch[23:35], wall_ms.to_bytes(8, "big"), memoryview(batch)[43:])
    )
    return b"".join((memoryview(batch)[:17], google_crc32c.value(covered).to_bytes(4, "big"), covered))
