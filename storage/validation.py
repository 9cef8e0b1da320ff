"""Kafka's checks of a produced batch before it is stored, in Kafka's order.

There are two steps: `only_batch` checks the bytes, independently of the partition; `check_batch` reads the records and
applies the topic's configuration. Compressed records whose codec is not installed are not read: they are stored as they
are, except in a compacted topic, which rejects them.
Source: Kafka's `ProduceRequest.validateRecords`, `UnifiedLog.analyzeAndValidateRecords`, `LogValidator`; error codes,
messages and the presence of the log start offset are those of Kafka 4.3.0 (`tests/storage/odd_batches.json`).
"""

from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from struct import Struct
from typing import NamedTuple

import google_crc32c

from kohort.protocol.batches import (
    COMPRESSION_MASK,
    CONTROL,
    DELETE_HORIZON,
    HEADER_SIZE,
    LOG_APPEND_TIME,
    MAGIC,
    NO_PRODUCER,
    TRANSACTIONAL,
    BatchInfo,
    batch_header,
)
from kohort.protocol.compression import (
    CodecMissingError,
    Compression,
    TooLargeError,
    decompress,
    lz4_blocks_need_others,
)
from kohort.protocol.errors import DecodeError, ErrorCode
from kohort.storage.record_checks import BadRecordsError, RecordInShort, Survey, records_in_short, survey
from kohort.storage.topic_configs import LogConfig

_LOG_OVERHEAD = 12
_UP_TO_MAGIC = 17
_LEAST_RECORD_SIZE = 14

ZSTD_FROM = 7  # first version of Produce that allows zstd (KIP-110)

ERRORS_SHOWN = 3  # bad records in the error message; the list of record errors has more

# Maximum number of record errors in a response. Kafka has no limit, but a few kilobytes of zstd can contain millions of
# records, and the response would have gigabytes.
ERRORS_ANSWERED = 10_000

INT_MAX = 2**31 - 1
_LONG_MAX = 2**63 - 1
_LAST_CODEC = int(Compression.ZSTD)
_ATTRIBUTES_TO_KEEP = COMPRESSION_MASK | TRANSACTIONAL | CONTROL | DELETE_HORIZON
_ATTRIBUTES_AT, _LAST_OFFSET_DELTA_AT, _MAX_TIMESTAMP_AT, _PRODUCER_ID_AT = 21, 23, 35, 43
_LENGTH_AND_MAGIC = Struct(">8xi4xb")
_ATTRIBUTES = Struct(">h")
_LONG = Struct(">q")


@dataclass(frozen=True, slots=True)
class Rejection:
    """The reason for which a batch is not stored."""

    error_code: ErrorCode
    message: str | None = None
    # Whether Kafka's response contains the log start offset with this error, instead of -1.
    has_log_start: bool = False
    record_errors: tuple[tuple[int, str], ...] = ()  # index in the batch and message of each bad record
    warning: str = field(default="", compare=False)  # for the log, if the response does not contain the reason


_NO_RECORD = Rejection(ErrorCode.invalid_record)
_BAD_BATCH = Rejection(ErrorCode.invalid_record, has_log_start=True)
_CORRUPT = Rejection(ErrorCode.corrupt_message)
_UNREADABLE = Rejection(ErrorCode.unknown_server_error, has_log_start=True)  # Kafka throws an unexpected exception


class Accepted(NamedTuple):
    """A batch as it will be stored."""

    batch: bytes
    max_timestamp: int
    append_time_ms: int  # wall clock, or -1 if the records keep the producer's timestamps


# `Accepted._make` without a Python-level call, because almost every batch is stored unchanged.
_as_it_is = partial(tuple.__new__, Accepted)

Verdict = Accepted | Rejection


def only_batch(records: bytes | None, version: int) -> tuple[bytes, BatchInfo] | Rejection:
    """Return the one batch that a Produce request of this version may have per partition, and its header.

    Trailing bytes that are too short for another batch are ignored, as in Kafka.
    """
    if records is None:
        return _NO_RECORD
    end = size = len(records)
    if size < HEADER_SIZE or _LENGTH_AND_MAGIC.unpack_from(records) != (size - _LOG_OVERHEAD, MAGIC):
        batch_end = _batch_end(records, 0)
        if isinstance(batch_end, Rejection):
            return batch_end
        if batch_end is None or records[_UP_TO_MAGIC - 1] != MAGIC:
            return _NO_RECORD
        if batch_end < HEADER_SIZE:
            return _CORRUPT
        end = batch_end
    header = batch_header(records, 0, end)
    if version < ZSTD_FROM and header.compression == _LAST_CODEC:
        return Rejection(ErrorCode.unsupported_compression_type)
    if end == size:
        return records, header  # one batch and nothing else, as nearly always
    another = _batch_end(records, end)
    if another is not None:
        return Rejection(another.error_code) if isinstance(another, Rejection) else _NO_RECORD
    return records[:end], header


def _batch_end(records: bytes, start: int) -> int | Rejection | None:
    """Return the end of the batch at `start`, or None if it is incomplete. Source: `ByteBufferLogInputStream`."""
    remaining = len(records) - start
    if remaining < _LOG_OVERHEAD:
        return None
    length = int.from_bytes(records[start + 8 : start + 12], "big", signed=True)
    if length < _LEAST_RECORD_SIZE:
        return Rejection(
            ErrorCode.corrupt_message,
            f"Record size {length} is less than the minimum record overhead ({_LEAST_RECORD_SIZE})",
        )
    if length > INT_MAX - _LOG_OVERHEAD:
        return Rejection(ErrorCode.unknown_server_error)  # in Kafka the sum of both is negative
    if remaining < _UP_TO_MAGIC:
        return None
    magic = int.from_bytes(records[start + 16 : start + 17], "big", signed=True)
    if not 0 <= magic <= MAGIC:
        return Rejection(ErrorCode.corrupt_message, f"Invalid magic found in record: {magic}")
    return start + _LOG_OVERHEAD + length if _LOG_OVERHEAD + length <= remaining else None


def check_batch(
    batch: bytes, header: BatchInfo, config: LogConfig, topic_partition: tuple[str, int], wall_ms: int, most_bytes: int
) -> Verdict:
    """Return the batch to store in a log with this configuration, or the rejection.

    Args:
        topic_partition: Named in the message of the rejection.

    Raises:
        TooLargeError: The decompressed records exceed `most_bytes`.
    """
    if header.base_offset != 0:
        return _BAD_BATCH
    if len(batch) > config.max_message_bytes:
        return Rejection(ErrorCode.message_too_large)
    if google_crc32c.value(batch[_ATTRIBUTES_AT:]) != header.crc:
        return _CORRUPT
    codec = header.attributes & COMPRESSION_MASK
    if codec > _LAST_CODEC:
        return _UNREADABLE
    if header.record_count <= 0 or header.record_count != header.last_offset_delta + 1:
        return _BAD_BATCH
    if header.attributes & CONTROL:
        return _BAD_BATCH
    if header.producer_id > NO_PRODUCER and header.base_sequence < 0:
        return _BAD_BATCH
    try:
        if codec:
            body, at = _unfolded(batch, codec, min(most_bytes, config.max_decompressed_bytes)), 0
        else:
            body, at = batch, HEADER_SIZE
        records = survey(body, header.record_count, compressed=codec != 0, at=at)
    except CodecMissingError:
        if config.compact:
            return Rejection(ErrorCode.unsupported_compression_type, has_log_start=True)
        return _check_unread(batch, header, config, wall_ms)
    except BadRecordsError as problem:
        return _BAD_BATCH if problem.error_code is ErrorCode.invalid_record else _UNREADABLE
    except TooLargeError:
        if config.max_decompressed_bytes <= most_bytes:
            return _too_large(config)
        raise
    except DecodeError:
        return _UNREADABLE
    latest = _latest_if_good(header, records, config, wall_ms)
    if latest is None:
        errors = _RecordErrors(header, config, topic_partition, wall_ms)
        latest = errors.look(body, at)
        if errors.count:
            return errors.rejection()
    if codec and not records.ordered:
        return _UNREADABLE
    return _accepted(batch, header, latest, config, wall_ms)


def _too_large(config: LogConfig) -> Rejection:
    limit = f"max.decompressed.message.bytes ({config.max_decompressed_bytes})"
    warning = f"rejected a compressed batch whose records exceed {limit}"
    return Rejection(ErrorCode.invalid_record, has_log_start=True, warning=warning)


def _unfolded(batch: bytes, codec: int, most_bytes: int) -> bytes:
    block = batch[HEADER_SIZE:]
    if codec == Compression.LZ4 and lz4_blocks_need_others(block):
        raise DecodeError("lz4: blocks that need each other")
    if codec == Compression.ZSTD and not block:
        return block
    return decompress(codec, block, most_bytes)


def _latest_if_good(header: BatchInfo, records: Survey, config: LogConfig, wall_ms: int) -> int | None:
    """Return the largest timestamp if the topic accepts all records, or None if they must be checked individually."""
    if config.compact and records.keyless:
        return None
    if header.attributes & LOG_APPEND_TIME:
        if config.log_append_time:
            return None
        earliest = latest = header.max_timestamp
    elif records.latest_delta is None:
        return None
    else:
        earliest, latest = header.base_timestamp + records.earliest_delta, header.base_timestamp + records.latest_delta
        if config.log_append_time:
            return latest
    if earliest < wall_ms - config.timestamp_before_max_ms or latest > wall_ms + config.timestamp_after_max_ms:
        return None
    # Records without a timestamp have -1; lower values are invalid.
    return latest if latest >= -1 and latest <= _LONG_MAX else None


class _RecordErrors:
    """Collects the errors of individual records of a batch."""

    def __init__(self, header: BatchInfo, config: LogConfig, topic_partition: tuple[str, int], wall_ms: int) -> None:
        self._header = header
        self._config = config
        topic, partition = topic_partition
        self._keyless = f"Compacted topic cannot accept message without key in topic partition {topic}-{partition}"
        self._wall_ms = wall_ms
        self._record_errors: list[tuple[int, str]] = []
        self._bad_times = False
        self.count = 0

    def look(self, body: bytes, at: int) -> int:
        """Check each record and return the largest timestamp."""
        header, config = self._header, self._config
        latest = -1
        for record in records_in_short(body, header.record_count, at):
            if self.count == ERRORS_ANSWERED:
                break  # nothing is stored: the others need not be named
            time = header.max_timestamp
            if not header.attributes & LOG_APPEND_TIME:
                time = _as_long(header.base_timestamp + record.time_delta)
            if config.compact and record.key_size < 0:
                self._add(record.number, self._keyless)
            else:
                self.look_at_time(record, time)
            if time > latest:
                latest = time
        return latest

    def look_at_time(self, record: RecordInShort, time: int) -> None:
        problem = self._problem_of_time(record, time)
        if problem is not None:
            self._bad_times = True
            self._add(record.number, problem)

    def _problem_of_time(self, record: RecordInShort, time: int) -> str | None:
        config = self._config
        if config.log_append_time:
            if not self._header.attributes & LOG_APPEND_TIME:
                return None
            return (
                f"Invalid timestamp type in message {self._in_javas_words(record, time)}. "
                "Producer should not set timestamp type to LogAppendTime."
            )
        difference = _as_long(self._wall_ms - time)
        if time == -1 or (
            difference <= config.timestamp_before_max_ms and _as_long(-difference) <= config.timestamp_after_max_ms
        ):
            return None
        least, most = self._wall_ms - config.timestamp_before_max_ms, self._wall_ms + config.timestamp_after_max_ms
        return (
            f"Timestamp {time} of message with offset {record.offset_delta} is out of range. "
            f"The timestamp should be within [{least}, {_as_long(most)}]"
        )

    def _in_javas_words(self, record: RecordInShort, time: int) -> str:
        """Format a record as `toString` of Kafka's `DefaultRecord` or `PartialDefaultRecord`."""
        kind, key, value = "DefaultRecord", max(record.key_size, 0), max(record.value_size, 0)
        if self._header.compression:
            kind, key, value = "PartialDefaultRecord", record.key_size, record.value_size
        return f"{kind}(offset={record.offset_delta}, timestamp={time}, key={key} bytes, value={value} bytes)"

    def _add(self, number: int, problem: str) -> None:
        self.count += 1
        self._record_errors.append((number, problem))

    def rejection(self) -> Rejection:
        if self._bad_times:
            error_code = ErrorCode.invalid_timestamp
            message = "One or more records have been rejected due to invalid timestamp"
        else:
            error_code = ErrorCode.invalid_record
            descriptions = ", ".join(
                f"RecordError(batchIndex={number}, message='{text}')"
                for number, text in islice(self._record_errors, ERRORS_SHOWN)
            )
            message = (
                f"One or more records have been rejected due to {self.count} record errors in total, and only showing "
                f"the first three errors at most: [{descriptions}]"
            )
        return Rejection(error_code, message, has_log_start=True, record_errors=tuple(self._record_errors))


def _as_long(number: int) -> int:
    """Wrap a number to Java's long."""
    return (number + _LONG_MAX + 1) % (1 << 64) - _LONG_MAX - 1


def _check_unread(batch: bytes, header: BatchInfo, config: LogConfig, wall_ms: int) -> Verdict:
    """Check the timestamps of the header, which are the limits of the records' timestamps."""
    errors = _RecordErrors(header, config, ("", 0), wall_ms)
    for number, time in ((0, header.base_timestamp), (header.last_offset_delta, header.max_timestamp)):
        errors.look_at_time(RecordInShort(number, 0, number, 0, 0), time)
        if errors.count:
            return errors.rejection()
    return _accepted(batch, header, header.max_timestamp, config, wall_ms)


def _accepted(batch: bytes, header: BatchInfo, latest: int, config: LogConfig, wall_ms: int) -> Accepted:
    """Set the timestamp type and the largest timestamp, and update the checksum if the batch changed.

    Source: Kafka's `DefaultRecordBatch.setMaxTimestamp`.
    """
    kind = LOG_APPEND_TIME if config.log_append_time else 0
    if kind:
        latest = wall_ms
    if header.attributes & LOG_APPEND_TIME == kind and header.max_timestamp == latest:
        return _as_it_is((batch, latest, wall_ms if kind else -1))
    covered = b"".join(
        (
            _ATTRIBUTES.pack(header.attributes & _ATTRIBUTES_TO_KEEP | kind),
            batch[_LAST_OFFSET_DELTA_AT:_MAX_TIMESTAMP_AT],
            _LONG.pack(latest),
            memoryview(batch)[_PRODUCER_ID_AT:],
        )
    )
    checksum = google_crc32c.value(covered).to_bytes(4, "big")
    return Accepted(b"".join((memoryview(batch)[:_UP_TO_MAGIC], checksum, covered)), latest, wall_ms if kind else -1)
