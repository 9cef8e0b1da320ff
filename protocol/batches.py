"""Record batches of format 2: what Produce sends, a log stores, and Fetch returns.

A batch is a header of 61 bytes and records, optionally compressed as one block. The broker reads headers only; records
are decoded to search for a timestamp, and encoded by the coordinator for its own records.
Source: Kafka's DefaultRecordBatch and DefaultRecord (KIP-98).
"""

from collections.abc import Iterator, Sequence
from functools import partial
from struct import Struct
from typing import Final, NamedTuple

import google_crc32c

from kohort.protocol.compression import Compression, decompress
from kohort.protocol.errors import DecodeError
from kohort.protocol.varints import read_varint, read_varlong, varint

HEADER_SIZE: Final = 61
MAGIC: Final = 2
NO_PRODUCER = NO_EPOCH = -1

COMPRESSION_MASK: Final = 0b111
LOG_APPEND_TIME: Final = 1 << 3
TRANSACTIONAL: Final = 1 << 4
CONTROL: Final = 1 << 5
DELETE_HORIZON: Final = 1 << 6

_CRC_AT: Final = 17
_CHECKED_AT: Final = 21
_LENGTH_AT: Final = 12  # the length field counts the bytes after itself

_HEADER: Final = Struct(">q4xibIhiqqqhii")  # all fields except the length
_BEFORE_CRC: Final = Struct(">qiibI").pack
_AFTER_CRC: Final = Struct(">hiqqqhii").pack
_LENGTH_AND_MAGIC: Final = Struct(">8xi4xb")


class UnsupportedMagicError(DecodeError):
    """A batch of format 0 or 1, from before Kafka 0.11."""


class BatchInfo(NamedTuple):
    """The header of a batch, which starts at `position` of its buffer and has `size` bytes."""

    position: int
    size: int
    base_offset: int
    leader_epoch: int
    magic: int
    crc: int
    attributes: int
    last_offset_delta: int
    base_timestamp: int
    max_timestamp: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    record_count: int

    @property
    def compression(self) -> int:
        return self.attributes & COMPRESSION_MASK

    @property
    def last_offset(self) -> int:
        return self.base_offset + self.last_offset_delta


class Record(NamedTuple):
    """One record. `offset` is set when a record is read and ignored when a batch is built."""

    key: bytes | None
    value: bytes | None
    timestamp_ms: int
    headers: tuple[tuple[str, bytes | None], ...] = ()
    offset: int = 0


# `BatchInfo._make` without a Python-level call, because every batch has a header.
_info = partial(tuple.__new__, BatchInfo)


def read_batches(data: bytes | memoryview) -> list[BatchInfo]:
    """Read the headers of all batches, which must fill `data`. CRCs are not checked.

    Raises:
        UnsupportedMagicError: A batch has an older format.
        DecodeError: A batch is incomplete or has an invalid length.
    """
    batches = []
    position, end = 0, len(data)
    while position < end:
        batch = read_batch(data, position)
        batches.append(batch)
        position += batch.size
    return batches


def read_batch(data: bytes | memoryview, position: int = 0) -> BatchInfo:
    """Read the header of the complete batch at `position`; raises like `read_batches`."""
    remaining = len(data) - position
    if remaining < _LENGTH_AND_MAGIC.size:
        raise DecodeError(f"a record batch in {remaining} bytes")
    length, magic = _LENGTH_AND_MAGIC.unpack_from(data, position)
    if magic != MAGIC:
        raise UnsupportedMagicError(f"a record batch of format {magic}")
    size = _LENGTH_AT + length
    if not HEADER_SIZE <= size <= remaining:
        raise DecodeError(f"a record batch of {size} bytes in {remaining}")
    return batch_header(data, position, size)


def batch_header(data: bytes | memoryview, position: int, size: int) -> BatchInfo:
    """Read the header of a batch of format 2 that is known to be complete, with `size` bytes."""
    return _info((position, size) + _HEADER.unpack_from(data, position))  # noqa: RUF005  (a display is twice as slow)


def crc_matches(data: bytes | memoryview, batch: BatchInfo) -> bool:
    """Return whether a batch is unchanged since it was produced; offset and leader epoch do not count."""
    checked = data[batch.position + _CHECKED_AT : batch.position + batch.size]
    crc: int = google_crc32c.value(bytes(checked))
    return crc == batch.crc


def build_batch(
    records: Sequence[Record],
    *,
    base_offset: int = 0,
    leader_epoch: int = 0,
    attributes: int = 0,
    producer_id: int = NO_PRODUCER,
    producer_epoch: int = -1,
    base_sequence: int = -1,
) -> bytes:
    """Build an uncompressed batch of at least one record, with offsets from `base_offset` on."""
    first = records[0]
    base_timestamp = max_timestamp = first.timestamp_ms
    body = _record(first.key, first.value, first.headers, b"\x00\x00\x00")
    count = len(records)
    if count > 1:
        parts = [body]
        for delta in range(1, count):
            record = records[delta]
            timestamp = record.timestamp_ms
            if timestamp > max_timestamp:
                max_timestamp = timestamp
            start = b"\x00" + varint(timestamp - base_timestamp) + varint(delta)
            parts.append(_record(record.key, record.value, record.headers, start))
        body = b"".join(parts)
    times = base_timestamp, max_timestamp
    checked = _AFTER_CRC(attributes, count - 1, *times, producer_id, producer_epoch, base_sequence, count) + body
    crc = google_crc32c.value(checked)
    return _BEFORE_CRC(base_offset, len(checked) + _CHECKED_AT - _LENGTH_AT, leader_epoch, MAGIC, crc) + checked


class EncodedRecords:
    """Encoded records with the same timestamp and offset deltas from 0 on. Iteration yields keys and values."""

    __slots__ = ("body", "count")

    def __init__(self, body: bytes, count: int) -> None:
        self.body = body
        self.count = count

    def __len__(self) -> int:
        return self.count

    def __iter__(self) -> Iterator[tuple[bytes | None, bytes | None]]:
        batch = self.batch(0)
        return ((record.key, record.value) for record in iterate_records(batch, read_batch(batch)))

    def batch(self, timestamp_ms: int, producer: tuple[int, int] | None = None) -> bytes:
        """Build the batch at base offset 0, for a transaction if the producer's id and epoch are given."""
        count = self.count
        if producer is None:
            header = _AFTER_CRC(0, count - 1, timestamp_ms, timestamp_ms, NO_PRODUCER, -1, -1, count)
        else:
            header = _AFTER_CRC(TRANSACTIONAL, count - 1, timestamp_ms, timestamp_ms, *producer, -1, count)
        checked = header + self.body
        crc = google_crc32c.value(checked)
        return _BEFORE_CRC(0, len(checked) + _CHECKED_AT - _LENGTH_AT, 0, MAGIC, crc) + checked


class Marker(NamedTuple):
    """Content of the control batch that ends a transaction."""

    committed: bool
    coordinator_epoch: int


_MARKER_KEY: Final = Struct(">hh")
_MARKER_VALUE: Final = Struct(">hi")
_ABORT: Final = 0
_COMMIT: Final = 1


def marker_batch(marker: Marker, producer_id: int, producer_epoch: int, timestamp_ms: int) -> bytes:
    """Build the control batch that ends a transaction. Source: KIP-98; Kafka's `EndTransactionMarker`."""
    key = _MARKER_KEY.pack(0, _COMMIT if marker.committed else _ABORT)
    return build_batch(
        [Record(key, _MARKER_VALUE.pack(0, marker.coordinator_epoch), timestamp_ms)],
        attributes=TRANSACTIONAL | CONTROL,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
    )


def read_marker(data: bytes | memoryview, batch: BatchInfo) -> Marker | None:
    """Read the marker of a control batch, or None if compaction has emptied it or it has another type.

    Raises:
        DecodeError: The record is malformed.
    """
    for record in iterate_records(data, batch):
        if record.key is None or record.value is None or len(record.key) < _MARKER_KEY.size:
            raise DecodeError("a control record without a key or a value")
        kind = _MARKER_KEY.unpack_from(record.key)[1]
        if kind not in (_ABORT, _COMMIT):
            return None
        if len(record.value) < _MARKER_VALUE.size:
            raise DecodeError(f"a marker of {len(record.value)} bytes")
        return Marker(kind == _COMMIT, _MARKER_VALUE.unpack_from(record.value)[1])
    return None


def encode_record(key: bytes | None, value: bytes | None, position: int) -> bytes:
    """Encode one record of `EncodedRecords`, the `position`-th of its batch."""
    return _record(key, value, (), b"\x00\x00" + varint(position))


def iterate_records(data: bytes | memoryview, batch: BatchInfo) -> Iterator[Record]:
    """Yield the records of a batch in order.

    Raises:
        DecodeError: A record is malformed, or its codec is not installed (`compression.CodecMissingError`).
    """
    raw = bytes(data[batch.position + HEADER_SIZE : batch.position + batch.size])
    if batch.compression != Compression.NONE:
        raw = decompress(batch.compression, raw)
    at = 0
    for _ in range(batch.record_count):
        try:
            size, at = read_varint(raw, at)
            end = at + size
            if size < 0 or end > len(raw):
                raise DecodeError(f"a record of {size} bytes")
            record = _read_record(raw, at, end, batch)
        except (IndexError, UnicodeDecodeError) as problem:
            raise DecodeError(f"no record: {problem}") from problem
        yield record
        at = end
    if at != len(raw):
        raise DecodeError(f"{len(raw) - at} bytes behind the last record")


Pair = tuple[bytes | None, bytes | None]  # key and value of a record

_NOT_A_SHORT_LENGTH: Final = 0x81  # bits of a varint's first byte: more bytes follow; the number is negative


def keys_and_values(data: bytes | memoryview, batch: BatchInfo) -> list[Pair]:
    """Return keys and values only, in a third of the time of `iterate_records`; raises like it."""
    raw = bytes(data[batch.position + HEADER_SIZE : batch.position + batch.size])
    if batch.compression != Compression.NONE:
        raw = decompress(batch.compression, raw)
    pairs: list[Pair] = []
    append, size_of_all, end = pairs.append, len(raw), 0
    try:
        for _ in range(batch.record_count):
            # Most lengths take one byte. Reading those here instead of in `read_varint` halves the time of a restart; a
            # key or value that ends behind the record is noticed at the headers.
            size = raw[end]
            if size & _NOT_A_SHORT_LENGTH:
                size, at = read_varint(raw, end)
            else:
                size, at = size >> 1, end + 1
            end = at + size
            if size < 0 or end > size_of_all:
                raise DecodeError(f"a record of {size} bytes")
            if raw[at + 1] | raw[at + 2] < 0x80:  # both deltas, after the attributes
                at += 3
            else:
                at = read_varint(raw, read_varlong(raw, at + 1)[1])[1]
            size = raw[at]
            if size & _NOT_A_SHORT_LENGTH:
                key, at = _read_bytes(raw, at, end)
            else:
                start = at + 1
                at = start + (size >> 1)
                key = raw[start:at]
            size = raw[at]
            if size & _NOT_A_SHORT_LENGTH:
                value, at = _read_bytes(raw, at, end)
            else:
                start = at + 1
                at = start + (size >> 1)
                value = raw[start:at]
            if end - at != 1 or raw[at]:  # otherwise without headers
                _read_headers(raw, at, end)
            append((key, value))
    except (IndexError, UnicodeDecodeError) as problem:
        raise DecodeError(f"no record: {problem}") from problem
    if end != len(raw):
        raise DecodeError(f"{len(raw) - end} bytes behind the last record")
    return pairs


def record_places(data: bytes, at: int, end: int) -> tuple[int, int, int, int]:
    """Return the positions of a record's key, value size and value, and its end, which is at most `end`.

    Raises:
        IndexError: The record ends early.
        DecodeError: The record has no key or is malformed.
    """
    length, at = read_varint(data, at)
    record_end = at + length
    _, at = read_varlong(data, at + 1)  # behind attributes: the difference of time
    _, at = read_varint(data, at)  # that of offsets
    key_size, key_at = read_varint(data, at)
    value_size_at = key_at + key_size
    if key_size < 0 or value_size_at >= end:
        raise DecodeError("a record without a key")
    _, value_at = read_varint(data, value_size_at)
    if not value_at <= record_end <= end:
        raise DecodeError("a record longer than its size field")
    return key_at, value_size_at, value_at, record_end


def _record(
    key: bytes | None, value: bytes | None, headers: tuple[tuple[str, bytes | None], ...], start: bytes
) -> bytes:
    """Encode a record after `start`: attributes and both deltas."""
    body = b"".join(
        (
            start,
            b"\x01" if key is None else varint(len(key)),
            key or b"",
            b"\x01" if value is None else varint(len(value)),
            value or b"",
            _headers(headers) if headers else b"\x00",
        )
    )
    return varint(len(body)) + body


def _headers(headers: tuple[tuple[str, bytes | None], ...]) -> bytes:
    parts = [varint(len(headers))]
    for name, value in headers:
        raw = name.encode()
        parts += varint(len(raw)), raw
        parts.append(b"\x01" if value is None else varint(len(value)) + value)
    return b"".join(parts)


def _read_record(raw: bytes, at: int, end: int, batch: BatchInfo) -> Record:
    timestamp_delta, at = read_varlong(raw, at + 1)
    offset_delta, at = read_varint(raw, at)
    key, at = _read_bytes(raw, at, end)
    value, at = _read_bytes(raw, at, end)
    headers = _read_headers(raw, at, end)
    timestamp = batch.max_timestamp if batch.attributes & LOG_APPEND_TIME else batch.base_timestamp + timestamp_delta
    return Record(key, value, timestamp, tuple(headers), batch.base_offset + offset_delta)


def _read_headers(raw: bytes, at: int, end: int) -> list[tuple[str, bytes | None]]:
    """Read the headers of a record and check that it ends there."""
    count, at = read_varint(raw, at)
    if not 0 <= count <= end - at:
        raise DecodeError(f"a record with {count} headers")
    headers = []
    for _ in range(count):
        name, at = _read_bytes(raw, at, end)
        if name is None:
            raise DecodeError("a header without a name")
        content, at = _read_bytes(raw, at, end)
        headers.append((name.decode(), content))
    if at != end:
        raise DecodeError("a record whose length differs from its size field")
    return headers


def _read_bytes(raw: bytes, at: int, end: int) -> tuple[bytes | None, int]:
    size, at = read_varint(raw, at)
    if size < 0:  # -1, but Kafka takes any
        return None, at
    if size > end - at:
        raise DecodeError(f"{size} bytes in a record")
    return raw[at : at + size], at + size
