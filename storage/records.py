"""Inside a batch: its records, as far as storage has to look at them."""

from struct import Struct

from kohort.protocol.batches import COMPRESSION_MASK, HEADER_SIZE, iterate_records, read_batch
from kohort.protocol.compression import CodecMissingError, decompress
from kohort.protocol.errors import DecodeError
from kohort.protocol.varints import read_varint, read_varlong, varint
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
            length, at = read_varint(records, at)
            end = at + length
            at += 1  # attributes
            at = at + 1 if records[at] < 128 else read_varlong(records, at)[1]  # difference of time
            at = at + 1 if records[at] < 128 else read_varint(records, at)[1]  # difference of offset
            length, at = read_varint(records, at)
            key = None if length < 0 else records[at : at + length]
            at += max(length, 0)
            length, at = read_varint(records, at)
            if not start < at <= end <= size:
                raise DecodeError("a record longer than it says")
            spans.append((start, end, key, length < 0))
            at = end
    except IndexError as problem:
        raise DecodeError("a record that ends in the middle") from problem
    return spans


def later_by(milliseconds: int, record: bytes) -> bytes:
    """A record, as `record_spans` finds it, whose difference to its batch's first time is so much larger."""
    _, attributes_at = read_varint(record, 0)
    difference, rest_at = read_varlong(record, attributes_at + 1)
    body = record[attributes_at : attributes_at + 1] + varint(difference + milliseconds) + record[rest_at:]
    return varint(len(body)) + body
