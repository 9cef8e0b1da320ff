"""Record batches for tests, built byte by byte."""

import gzip
from collections.abc import Generator, Sequence
from struct import pack, unpack_from
from typing import TypeVar

from google_crc32c import value as crc32c

from kohort.storage.log import PartitionLog

T = TypeVar("T")
Pair = tuple[bytes | None, bytes | None]


def varint(number: int) -> bytes:
    number = number << 1 ^ number >> 63
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    out.append(number)
    return bytes(out)


def record(offset_delta: int, key: bytes | None, value: bytes | None, time_delta: int = 0) -> bytes:
    body = b"\0" + varint(time_delta) + varint(offset_delta)
    for part in (key, value):
        body += varint(-1) if part is None else varint(len(part)) + part
    body += varint(0)
    return varint(len(body)) + body


def batch(
    *records: Pair | bytes,
    at: int | Sequence[int] = 1_000,
    attributes: int = 0,
    producer: tuple[int, int, int] = (-1, -1, -1),
    base_offset: int = 0,
    magic: int = 2,
    count: int | None = None,
    last_offset_delta: int | None = None,
    crc_off_by: int = 0,
) -> bytes:
    """Return a batch of values, or of pairs of key and value.

    Args:
        at: Timestamp of all records, or one timestamp for each.
        producer: Id, epoch and sequence of the first record.
    """
    pairs = [record if isinstance(record, tuple) else (None, record) for record in records]
    times = [at] * max(len(pairs), 1) if isinstance(at, int) else list(at)
    body = b"".join(record(n, key, value, times[n] - times[0]) for n, (key, value) in enumerate(pairs))
    if attributes & 7 == 1:
        body = gzip.compress(body)
    delta = len(pairs) - 1 if last_offset_delta is None else last_offset_delta
    covered = (
        pack(">hiqqqhi", attributes, delta, times[0], max(times), *producer)
        + pack(">i", len(pairs) if count is None else count)
        + body
    )
    crc = crc32c(covered) ^ crc_off_by
    return pack(">qiibI", base_offset, len(covered) + 9, -1, magic, crc) + covered


def result_of(steps: Generator[None, None, T]) -> T:
    """Run a task to its end and return its result."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            result: T = end.value
            return result


def found_at(log: PartitionLog, timestamp: int) -> tuple[int, int] | None:
    """Return the result of a log's search for a timestamp."""
    return result_of(log.offset_for_timestamp(timestamp))


def split(chunks: Sequence[bytes | memoryview]) -> list[bytes]:
    """Split data read from a log into its batches."""
    data, batches, start = b"".join(chunks), [], 0
    while start < len(data):
        after = start + 12 + unpack_from(">i", data, start + 8)[0]
        batches.append(data[start:after])
        start = after
    return batches


def offsets(chunks: Sequence[bytes | memoryview]) -> list[int]:
    """Return the base offsets of the batches in data read from a log."""
    return [unpack_from(">q", chunk)[0] for chunk in split(chunks)]


def contents(chunks: Sequence[bytes | memoryview]) -> list[tuple[int, bytes | None, bytes | None]]:
    """Return offset, key and value of each record, after checking all checksums."""
    found = []
    for chunk in split(chunks):
        base, attributes, count = (
            unpack_from(">q", chunk)[0],
            unpack_from(">h", chunk, 21)[0],
            unpack_from(">i", chunk, 57)[0],
        )
        assert crc32c(chunk[21:]) == unpack_from(">I", chunk, 17)[0], "the checksum must hold"
        body = gzip.decompress(chunk[61:]) if attributes & 7 == 1 else chunk[61:]
        at = 0
        for _ in range(count):
            length, at = unvarint(body, at)
            end = at + length
            _, at = unvarint(body, at + 1)
            delta, at = unvarint(body, at)
            parts: list[bytes | None] = []
            for _ in range(2):
                size, at = unvarint(body, at)
                parts.append(None if size < 0 else body[at : at + size])
                at += max(size, 0)
            found.append((base + delta, parts[0], parts[1]))
            at = end
        assert at == len(body), "nothing may be left over"
    return found


def unvarint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value >> 1 ^ -(value & 1), at
