"""Inside a batch: its records, as far as storage has to look at them.

The record-by-record decoding that clients do is in protocol/batches.py; here are the few fields that compaction, checks
and look-ups by time need, read without making an object per record.
"""

import zlib
from collections.abc import Iterator
from struct import Struct

from kohort.protocol.errors import DecodeError
from kohort.storage.segment import Chunk

GZIP = 1
MAX_DECOMPRESSED_BYTES = 64 << 20
"""A batch that would become larger is not looked into: a small one must not be able to fill the memory."""

HEADER_BYTES = 61
COMPRESSION_BITS = 0x07
LOG_APPEND_TIME_BIT = 0x08

_ATTRIBUTES = Struct(">h")
_ATTRIBUTES_AT = 21
_BASE_OFFSET = Struct(">q")
_TIMES = Struct(">qq")
_TIMES_AT = 27


def records_of(batch: Chunk) -> bytes | None:
    """The records behind a batch's header, decompressed; None: in a compression that nothing here can read.

    Raises DecodeError for bytes that are not in the compression that the header says.
    """
    compression = _ATTRIBUTES.unpack_from(batch, _ATTRIBUTES_AT)[0] & COMPRESSION_BITS
    records = bytes(batch[HEADER_BYTES:])
    return decompress(compression, records) if compression else records


def decompress(compression: int, records: bytes) -> bytes | None:
    """See `records_of`."""
    if compression != GZIP:
        return None
    stream = zlib.decompressobj(wbits=31)
    try:
        plain = stream.decompress(records, MAX_DECOMPRESSED_BYTES)
    except zlib.error as problem:
        raise DecodeError(f"not gzip: {problem}") from problem
    if not stream.eof:
        raise DecodeError(f"cut off, or more than {MAX_DECOMPRESSED_BYTES} bytes when decompressed")
    return plain


def find_time(batch: Chunk, timestamp: int, least_offset: int) -> tuple[int, int] | None:
    """Timestamp and offset of the first record that is before neither of the two; None: there is none.

    In a compression that cannot be read the batch stands for its records.
    """
    base_offset = _BASE_OFFSET.unpack_from(batch)[0]
    base_timestamp, max_timestamp = _TIMES.unpack_from(batch, _TIMES_AT)
    stamped = _ATTRIBUTES.unpack_from(batch, _ATTRIBUTES_AT)[0] & LOG_APPEND_TIME_BIT
    records = records_of(batch)
    if records is None:
        return (max_timestamp, max(base_offset, least_offset)) if max_timestamp >= timestamp else None
    for time_delta, offset_delta in _deltas(records):
        time = max_timestamp if stamped else base_timestamp + time_delta
        if time >= timestamp and base_offset + offset_delta >= least_offset:
            return time, base_offset + offset_delta
    return None


def _deltas(records: bytes) -> Iterator[tuple[int, int]]:
    """Of each record: the differences of its time and its offset to the batch's first."""
    at = 0
    try:
        while at < len(records):
            length, at = _varint(records, at)
            time_delta, after = _varint(records, at + 1)
            yield time_delta, _varint(records, after)[0]
            at += length
    except IndexError as problem:
        raise DecodeError("a record that ends in the middle") from problem


def record_spans(records: bytes) -> list[tuple[int, int, bytes | None, bool]]:
    """Of each record: where it starts and ends, its key, whether its value is null.

    Hot: most bytes of a varint are the only one, and are read in place.
    """
    spans = []
    at, size = 0, len(records)
    try:
        while at < size:
            start = at
            length, at = _varint(records, at)
            end = at + length
            at += 1  # attributes
            while records[at] > 127:  # difference of time
                at += 1
            at += 1
            while records[at] > 127:  # difference of offset
                at += 1
            at += 1
            length, at = _varint(records, at)
            key = None if length < 0 else records[at : at + length]
            at += max(length, 0)
            length, at = _varint(records, at)
            if not start < at <= end <= size:
                raise DecodeError("a record longer than it says")
            spans.append((start, end, key, length < 0))
            at = end
    except IndexError as problem:
        raise DecodeError("a record that ends in the middle") from problem
    return spans


def _varint(data: bytes, at: int) -> tuple[int, int]:
    byte = data[at]
    at += 1
    if byte < 128:
        return byte >> 1 ^ -(byte & 1), at
    value, shift = byte & 127, 7
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value >> 1 ^ -(value & 1), at
        shift += 7
