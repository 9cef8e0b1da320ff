"""Inside a batch: its records, as far as storage has to look at them."""

from struct import Struct

from kohort.protocol.batches import COMPRESSION_MASK, HEADER_SIZE, iterate_records, read_batch, varint
from kohort.protocol.compression import CodecMissingError, decompress
from kohort.protocol.errors import DecodeError
from kohort.storage.segment import Chunk

_ATTRIBUTES = Struct(">h")
_ATTRIBUTES_AT = 21


def records_of(batch: Chunk) -> bytes | None:
    """The records behind a batch's header, decompressed; None: in a compression whose codec is not installed.

    Raises DecodeError for bytes that are not in the compression that the header says.
    """
    compression = _ATTRIBUTES.unpack_from(batch, _ATTRIBUTES_AT)[0] & COMPRESSION_MASK
    records = bytes(batch[HEADER_SIZE:])
    try:
        return decompress(compression, records) if compression else records
    except CodecMissingError:
        return None


def find_time(batch: Chunk, timestamp: int, least_offset: int) -> tuple[int, int] | None:
    """Timestamp and offset of the first record that is before neither of the two; None: there is none.

    A batch that cannot be read stands for its records.
    """
    header = read_batch(batch)
    try:
        for record in iterate_records(batch, header):
            if record.timestamp_ms >= timestamp and record.offset >= least_offset:
                return record.timestamp_ms, record.offset
    except DecodeError:
        if header.max_timestamp >= timestamp and header.last_offset >= least_offset:
            return header.max_timestamp, max(header.base_offset, least_offset)
    return None


def record_spans(records: bytes) -> list[tuple[int, int, bytes | None, bool]]:
    """Of each record: where it starts and ends, its key, whether its value is null. Raises DecodeError.

    For compaction, which goes through every record: no object per record, and no look at what it does not need.
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


def later_by(milliseconds: int, record: bytes) -> bytes:
    """A record, as `record_spans` finds it, whose difference to its batch's first time is so much larger."""
    _, attributes_at = _varint(record, 0)
    difference, rest_at = _varint(record, attributes_at + 1)
    body = record[attributes_at : attributes_at + 1] + varint(difference + milliseconds) + record[rest_at:]
    return varint(len(body)) + body


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
