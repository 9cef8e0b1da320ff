"""A segment of a partition's log: record batches ordered by offset, kept as bytes.

`Segment` is the interface that a log uses; `MemorySegment` keeps batches in memory, `FileSegment` in a file. Rolling,
retention and compaction are decided in log.py.

In memory, batches are collected in a tail (a bytearray) until it becomes a chunk, which is immutable, so that readers
get views without a copy. A large batch is a chunk of its own. No object and no index entry per batch exists outside
the tail: a chunk is searched from header to header, at most a few hundred.
"""

from abc import ABC, abstractmethod
from array import array
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from struct import Struct
from typing import Final

from mypy_extensions import mypyc_attr

# The tail becomes a chunk at this size. Smaller chunks cost more memory, larger ones longer searches.
CHUNK_BYTES: Final = 32 * 1024
# A batch of this size is a chunk of its own: it is copied once, and the overhead of a chunk is small compared to it.
LARGE_BATCH_BYTES: Final = 8 * 1024

# Minimum distance between entries of a segment's offset index (Kafka's `index.interval.bytes`).
INDEX_INTERVAL_BYTES: Final = 4096

NO_ROOM: Final = -1  # a batch did not fit

# Base offset, length, leader epoch: the part of a batch header that the checksum does not cover.
_STAMP: Final = Struct(">qii")
_HEAD: Final = Struct(">qi")
_LENGTH: Final = Struct(">i")
_LAST_OFFSET_DELTA: Final = Struct(">i")
_TIMESTAMP: Final = Struct(">q")
# last offset delta and largest timestamp, at `_LAST_OFFSET_DELTA_AT`
_DELTA_AND_TIMESTAMP: Final = Struct(">i8xq").unpack_from
_LAST_OFFSET_DELTA_AT: Final = 23
_MAX_TIMESTAMP_AT: Final = 35

Chunk = bytes | memoryview


@mypyc_attr(allow_interpreted_subclasses=True)
class Segment(ABC):
    """Interface of a segment. Offsets are absolute, sizes are in bytes, times are wall-clock milliseconds."""

    __slots__ = (
        "base_offset",
        "clean",
        "created_at_ms",
        "first_timestamp",
        "goes_on",
        "max_timestamp",
        "next_offset",
        "size_bytes",
    )

    def __init__(self, base_offset: int, created_at_ms: int) -> None:
        self.base_offset = base_offset
        self.next_offset = base_offset  # offset after the last record
        self.size_bytes = 0
        self.max_timestamp = -1  # largest timestamp of all records, or -1
        self.first_timestamp = -1  # Largest timestamp of the first batch, which determines the segment's age, or -1.
        self.created_at_ms = created_at_ms
        self.clean = False  # created by a compaction
        # Kafka would still append to the previous segment: this one was only started to save memory.
        self.goes_on = False

    def age_ms(self, batch: bytes, wall_ms: int) -> int:
        """Return the age of the segment when `batch` arrives (Kafka's `LogSegment.timeWaitedForRoll`)."""
        if self.first_timestamp < 0:
            return wall_ms - self.created_at_ms
        timestamp: int = _TIMESTAMP.unpack_from(batch, _MAX_TIMESTAMP_AT)[0]
        return timestamp - self.first_timestamp

    @abstractmethod
    def append(self, batch: bytes, base_offset: int, leader_epoch: int) -> None:
        """Add one batch with its offset and leader epoch. Does not keep a reference to `batch`."""

    @abstractmethod
    def read(self, offset: int, max_bytes: int, at_least_one: bool, chunks: list[Chunk]) -> int:
        """Append complete batches from the one that contains `offset`, or the next one, to `chunks`.

        Stops before `max_bytes` would be exceeded. With `at_least_one` the first batch is added whatever its size.

        Returns:
            The remaining room, or NO_ROOM if a batch did not fit.
        """

    @abstractmethod
    def close(self) -> None:
        """Mark the segment as complete."""

    @abstractmethod
    def batches_since(self, timestamp: int) -> Iterator[Chunk]:
        """Yield the batches whose largest timestamp is at or after `timestamp`."""

    @abstractmethod
    def chunks(self) -> Sequence[Chunk]:
        """Return all batches in order, in pieces of complete batches."""


def batches_of(chunk: Chunk) -> Iterator[memoryview]:
    """Yield the batches of a chunk."""
    view = memoryview(chunk)
    at, end = 0, len(view)
    while at < end:
        after = at + 12 + _LENGTH.unpack_from(view, at + 8)[0]
        yield view[at:after]
        at = after


def starts_of_batches(data: bytes) -> list[int]:
    """Return the positions at which the batches of a chunk start."""
    starts = []
    at, end = 0, len(data)
    while at < end:
        starts.append(at)
        at += 12 + _LENGTH.unpack_from(data, at + 8)[0]
    return starts


class MemorySegment(Segment):
    """A segment in memory."""

    __slots__ = (
        "_bases",
        "_chunks",
        "_max_timestamps",
        "_tail",
        "_tail_bases",
        "_tail_starts",
    )

    def __init__(self, base_offset: int, created_at_ms: int) -> None:
        super().__init__(base_offset, created_at_ms)
        self._chunks: list[bytes] = []
        # Base offset and largest timestamp of each chunk; of the tail too while there is one.
        self._bases = array("q")
        self._max_timestamps = array("q")
        self._tail: bytearray | None = None
        self._tail_bases = array("q")
        self._tail_starts = array("I")

    def append(self, batch: bytes, base_offset: int, leader_epoch: int) -> None:
        size = len(batch)
        delta, max_timestamp = _DELTA_AND_TIMESTAMP(batch, _LAST_OFFSET_DELTA_AT)
        if self.size_bytes == 0:
            self.first_timestamp = max_timestamp
        if size >= LARGE_BATCH_BYTES:
            self._freeze()
            stamp = _STAMP.pack(base_offset, size - 12, leader_epoch)
            self._chunks.append(b"".join((stamp, memoryview(batch)[16:])))
            self._bases.append(base_offset)
            self._max_timestamps.append(max_timestamp)
        else:
            tail = self._tail
            if tail is None:
                tail = self._tail = bytearray()
                self._bases.append(base_offset)
                self._max_timestamps.append(max_timestamp)
            elif max_timestamp > self._max_timestamps[-1]:
                self._max_timestamps[-1] = max_timestamp
            start = len(tail)
            self._tail_bases.append(base_offset)
            self._tail_starts.append(start)
            tail += batch
            _STAMP.pack_into(tail, start, base_offset, size - 12, leader_epoch)
            if start + size >= CHUNK_BYTES:
                self._freeze()
        self.size_bytes += size
        self.next_offset = base_offset + delta + 1
        if max_timestamp > self.max_timestamp:
            self.max_timestamp = max_timestamp

    def _freeze(self) -> None:
        """Convert the tail to a chunk."""
        if self._tail is not None:
            self._chunks.append(bytes(self._tail))
            self._tail = None
            del self._tail_bases[:], self._tail_starts[:]

    def read(self, offset: int, max_bytes: int, at_least_one: bool, chunks: list[Chunk]) -> int:
        index = max(bisect_right(self._bases, offset) - 1, 0)
        room = max_bytes
        while index < len(self._bases):
            data = self._data(index)
            start = self._start_of(index, data, offset)
            index += 1
            if start == len(data):
                continue  # compaction took the batches there were behind `offset`
            end = _cut(data, start, room)
            if end == start:
                if not at_least_one or chunks:
                    return NO_ROOM
                end = start + 12 + _LENGTH.unpack_from(data, start + 8)[0]
            room -= end - start
            chunks.append(_piece(data, start, end))
            if end < len(data):
                return NO_ROOM
        return max(room, 0)

    def close(self) -> None:
        """Release the tail's spare capacity."""
        self._freeze()

    def _data(self, index: int) -> bytes | bytearray:
        if index < len(self._chunks):
            return self._chunks[index]
        assert self._tail is not None, "the last index is the tail's"
        return self._tail

    def _start_of(self, index: int, data: bytes | bytearray, offset: int) -> int:
        """Return the position of the batch that contains `offset` or follows it, or the chunk's end."""
        if offset <= self._bases[index]:
            return 0
        if data is self._tail:
            number = bisect_right(self._tail_bases, offset) - 1
            start: int = self._tail_starts[number]
            after: int = self._tail_starts[number + 1] if number + 1 < len(self._tail_starts) else len(data)
        else:
            start, after = 0, 12 + _LENGTH.unpack_from(data, 8)[0]
            while after < len(data):
                base, length = _HEAD.unpack_from(data, after)
                if base > offset:
                    break
                start, after = after, after + 12 + length
        last = (
            _HEAD.unpack_from(data, start)[0] + _LAST_OFFSET_DELTA.unpack_from(data, start + _LAST_OFFSET_DELTA_AT)[0]
        )
        return start if last >= offset else after

    def batches_since(self, timestamp: int) -> Iterator[Chunk]:
        for index, latest in enumerate(self._max_timestamps):
            if latest >= timestamp:
                for batch in batches_of(bytes(self._data(index))):
                    if _TIMESTAMP.unpack_from(batch, _MAX_TIMESTAMP_AT)[0] >= timestamp:
                        yield batch

    def chunks(self) -> Sequence[Chunk]:
        return [*self._chunks, bytes(self._tail)] if self._tail is not None else list(self._chunks)

    def replace(self, chunks: Sequence[Chunk]) -> None:
        """Replace the content by complete batches in order. The range of offsets stays the same."""
        self._tail = None
        del self._tail_bases[:], self._tail_starts[:], self._bases[:], self._max_timestamps[:]
        self._chunks = [chunk if isinstance(chunk, bytes) else bytes(chunk) for chunk in chunks]
        for chunk in self._chunks:
            self._bases.append(_HEAD.unpack_from(chunk)[0])
            self._max_timestamps.append(
                max(_TIMESTAMP.unpack_from(batch, _MAX_TIMESTAMP_AT)[0] for batch in batches_of(chunk))
            )
        self.size_bytes = sum(map(len, self._chunks))
        self.max_timestamp = max(self._max_timestamps, default=-1)


def _cut(data: bytes | bytearray, start: int, max_bytes: int) -> int:
    """Return the end of the last complete batch within `max_bytes` from `start`."""
    size = len(data)
    if size - start <= max_bytes:
        return size
    end = start
    while end < size:
        after = end + 12 + _LENGTH.unpack_from(data, end + 8)[0]
        if after - start > max_bytes:
            break
        end = after
    return end


def _piece(data: bytes | bytearray, start: int, end: int) -> Chunk:
    """Return a part of a chunk without a copy. The tail is copied, because an exported bytearray cannot grow."""
    if isinstance(data, bytearray):
        with memoryview(data) as view:
            return bytes(view[start:end])
    return data if end - start == len(data) else memoryview(data)[start:end]
