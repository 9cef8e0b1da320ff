"""The records of a batch, as far as storage must look at them."""

from collections.abc import Container, Generator
from concurrent.futures import ThreadPoolExecutor
from struct import Struct
from typing import Final

from kohort.protocol.batches import COMPRESSION_MASK, HEADER_SIZE, LOG_APPEND_TIME, BatchInfo, read_batch
from kohort.protocol.compression import MAX_DECOMPRESSED_BYTES, CodecMissingError, TooLargeError, decompress
from kohort.protocol.errors import DecodeError
from kohort.protocol.varints import read_varint, read_varlong, varint
from kohort.storage.segment import Chunk

COMPACTED_AT_ONCE: Final = 2_000  # Records that a compaction processes in one slice: two milliseconds.
DECOMPRESSED_AT_ONCE: Final = 1 << 20  # Larger decompressed batches are decompressed in a thread during compaction.
SEARCHED_AT_ONCE: Final = 2_000  # Records that are searched by time in one slice: half a millisecond.
# Maximum decompressed size of a batch that is searched by time: 5 ms for zstd, 30 ms for gzip.
SEARCHED_BYTES: Final = 8 << 20

_NEVER: Final = 2**64
_LONG_MAX: Final = 2**63 - 1
_ATTRIBUTES: Final = Struct(">h")
_ATTRIBUTES_AT: Final = 21


def records_of(batch: Chunk, max_bytes: int = MAX_DECOMPRESSED_BYTES) -> bytes | None:
    """Return the decompressed records of a batch, or None if its codec is not installed.

    Raises:
        DecodeError: The bytes do not have the compression that the header declares.
        TooLargeError: The records exceed `most_bytes`.
    """
    compression = _ATTRIBUTES.unpack_from(batch, _ATTRIBUTES_AT)[0] & COMPRESSION_MASK
    records = bytes(batch[HEADER_SIZE:])
    try:
        return decompress(compression, records, max_bytes) if compression else records
    except CodecMissingError:
        return None


def records_in_steps(batch: Chunk) -> Generator[None, None, bytes | None]:
    """Return the result of `records_of`, step by step; large batches are decompressed in a thread."""
    try:
        return records_of(batch, max(len(batch), DECOMPRESSED_AT_ONCE))
    except TooLargeError:
        with ThreadPoolExecutor(1) as thread:
            unfolded = thread.submit(records_of, batch)
            while not unfolded.done():
                yield
            return unfolded.result()


def find_time(batch: Chunk, timestamp: int, least_offset: int) -> Generator[None, None, tuple[int, int] | None]:
    """Find timestamp and offset of the first record at or after both limits, or None.

    Works in slices, because a batch can have millions of records. A batch that cannot be read, or exceeds
    SEARCHED_BYTES when decompressed, is reported as a whole.
    """
    header = read_batch(batch)
    size = header.size - HEADER_SIZE
    stands_for_all = header.max_timestamp, max(header.base_offset, least_offset)
    if header.max_timestamp < timestamp or header.last_offset < least_offset:
        return None
    try:
        body = records_of(batch, max(size, SEARCHED_BYTES))
        if body is None:
            return stands_for_all
        at = number = 0
        while number < header.record_count:
            end = min(number + SEARCHED_AT_ONCE, header.record_count)
            at, match = _find_time(body, at, end - number, header, timestamp, least_offset)
            if match is not None:
                return match
            number = end
            yield
    except (DecodeError, IndexError):
        return stands_for_all
    return None


def _find_time(
    body: bytes, at: int, count: int, header: BatchInfo, timestamp: int, least_offset: int
) -> tuple[int, tuple[int, int] | None]:
    """Search the next `count` records of a batch; also return the position after them."""
    min_delta = timestamp - header.base_timestamp
    if header.attributes & LOG_APPEND_TIME:  # the one time of all, which is not before `timestamp`
        min_delta = -_NEVER
    for _ in range(count):
        size, start = read_varint(body, at)
        time = body[start + 1]
        if time < 128:
            delta, offset_at = time >> 1 ^ -(time & 1), start + 2
        else:
            delta, offset_at = read_varlong(body, start + 1)
        if delta >= min_delta and header.base_timestamp + delta <= _LONG_MAX:  # beyond that it is negative, in Kafka
            offset = header.base_offset + read_varint(body, offset_at)[0]
            if offset >= least_offset:
                is_append_time = header.attributes & LOG_APPEND_TIME
                return at, (header.max_timestamp if is_append_time else header.base_timestamp + delta, offset)
        at = start + size
        if size < 0 or at > len(body):
            raise DecodeError(f"a record of {size} bytes")
    return at, None


class Newest:
    """Finds the last record of each key in a batch, in slices, because a batch can have millions of records."""

    __slots__ = ("_passed", "by_key", "count", "records")

    def __init__(self, records: bytes, passed: Container[bytes]) -> None:
        """Create a search that ignores the keys in `passed`."""
        self.records = records
        self._passed = passed
        # start and end of the record, and whether its value is null
        self.by_key: dict[bytes, tuple[int, int, bool]] = {}
        self.count = 0  # number of records in the batch

    def find(self) -> Generator[None, None, None]:
        """Run the search.

        Raises:
            DecodeError: A record cannot be read.
        """
        at, size = 0, len(self.records)
        while at < size:
            try:
                at = self._find(at)
            except IndexError as problem:
                raise DecodeError("a record that ends in the middle") from problem
            if at < size:
                yield

    def _find(self, at: int) -> int:
        """Read the next records and return the end of the last one."""
        records, passed, by_key = self.records, self._passed, self.by_key
        number, size = 0, len(records)
        while at < size and number < COMPACTED_AT_ONCE:
            number += 1
            start = at
            length, at = read_varint(records, at)
            end = at + length
            at += 1  # attributes
            at = at + 1 if records[at] < 128 else read_varlong(records, at)[1]  # difference of time
            at = at + 1 if records[at] < 128 else read_varint(records, at)[1]  # difference of offset
            key_size, at = read_varint(records, at)
            key = None
            if key_size >= 0:
                key = records[at : at + key_size]
                at += key_size
            value_size, at = read_varint(records, at)
            if not start < at <= end <= size:
                raise DecodeError("a record is longer than its length field")
            if key is not None and key not in passed:
                by_key[key] = start, end, value_size < 0
            at = end
        self.count += number
        return at


def later_by(milliseconds: int, record: bytes) -> bytes:
    """Return a complete record with its timestamp delta increased."""
    _, attributes_at = read_varint(record, 0)
    difference, rest_at = read_varlong(record, attributes_at + 1)
    body = record[attributes_at : attributes_at + 1] + varint(difference + milliseconds) + record[rest_at:]
    return varint(len(body)) + body
