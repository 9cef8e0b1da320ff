"""A stretch of a partition's log: record batches in the order of their offsets, kept as bytes.

`Segment` is what a log asks of its segments; `MemorySegment` keeps them in memory, `disk.segment.FileSegment` in a
file. Rolling, retention and compaction are decided in log.py and do not care.

How memory is used: batches gather in a tail (a bytearray) until it is worth a chunk, which never changes again, so that
readers get views of it without a copy. A large batch is a chunk of its own from the start. There is no object and no
index entry per batch but in the tail: inside a chunk one walks from header to header, which is at most a few hundred.
"""

from abc import ABC, abstractmethod
from array import array
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from struct import Struct
from typing import Final

from mypy_extensions import mypyc_attr

CHUNK_BYTES: Final = 32 * 1024
"""The tail becomes a chunk at this size. Smaller chunks cost more memory, larger ones longer walks."""
LARGE_BATCH_BYTES: Final = 8 * 1024
"""A batch of this size is a chunk of its own: it is copied once, and its share of a chunk's cost is small."""

INDEX_INTERVAL_BYTES: Final = 4096
"""How far apart the entries of a segment's offset index are, at least (Kafka's `index.interval.bytes`)."""

NO_ROOM: Final = -1
"""There was a batch that did not fit any more."""

_STAMP: Final = Struct(">qii")
"""Base offset, length, leader epoch: the head of a batch, which its checksum does not cover."""
_HEAD: Final = Struct(">qi")
_LENGTH: Final = Struct(">i")
_LAST_OFFSET_DELTA: Final = Struct(">i")
_TIMESTAMP: Final = Struct(">q")
_DELTA_AND_TIMESTAMP: Final = Struct(">i8xq").unpack_from
"""Last offset delta and largest timestamp, from `_LAST_OFFSET_DELTA_AT` on."""
_LAST_OFFSET_DELTA_AT: Final = 23
_MAX_TIMESTAMP_AT: Final = 35

Chunk = bytes | memoryview


@mypyc_attr(allow_interpreted_subclasses=True)
class Segment(ABC):
    """What a log asks of a segment. Offsets are absolute, sizes are bytes, times are wall-clock milliseconds."""

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
        """An empty one."""
        self.base_offset = base_offset
        self.next_offset = base_offset
        """The offset after the last record."""
        self.size_bytes = 0
        self.max_timestamp = -1
        """The largest timestamp of all records; -1: there is none."""
        self.first_timestamp = -1
        """The largest of the first batch, from which the age of the segment is counted; -1: there is no batch."""
        self.created_at_ms = created_at_ms
        self.clean = False
        """Whether a compaction made it."""
        self.goes_on = False
        """Whether Kafka would still write to the segment before it: it began only for memory's sake."""

    def age_ms(self, batch: bytes, wall_ms: int) -> int:
        """How old it is when `batch` comes (Kafka's `LogSegment.timeWaitedForRoll`)."""
        if self.first_timestamp < 0:
            return wall_ms - self.created_at_ms
        timestamp: int = _TIMESTAMP.unpack_from(batch, _MAX_TIMESTAMP_AT)[0]
        return timestamp - self.first_timestamp

    @abstractmethod
    def append(self, batch: bytes, base_offset: int, leader_epoch: int) -> None:
        """Adds one batch, with its offset and leader epoch stamped in. Does not keep `batch` itself."""

    @abstractmethod
    def read(self, offset: int, max_bytes: int, at_least_one: bool, found: list[Chunk]) -> int:
        """Adds whole batches to `found`, from the one that holds `offset` or the next; returns the room that is left.

        Stops before `max_bytes` would be exceeded, and then returns NO_ROOM; with `at_least_one` the first batch comes
        whatever its size.
        """

    @abstractmethod
    def close(self) -> None:
        """Says that nothing will be appended any more."""

    @abstractmethod
    def batches_since(self, timestamp: int) -> Iterator[Chunk]:
        """The batches whose largest timestamp is not before `timestamp`."""

    @abstractmethod
    def chunks(self) -> Sequence[Chunk]:
        """Everything, in order, in pieces of whole batches."""


def batches_of(chunk: Chunk) -> Iterator[memoryview]:
    """The batches of a chunk, one after the other."""
    view = memoryview(chunk)
    at, end = 0, len(view)
    while at < end:
        after = at + 12 + _LENGTH.unpack_from(view, at + 8)[0]
        yield view[at:after]
        at = after


def starts_of_batches(data: bytes) -> list[int]:
    """Where the batches of a chunk begin."""
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
        """Adds one batch; see `Segment`."""
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
        """Makes a chunk of the tail."""
        if self._tail is not None:
            self._chunks.append(bytes(self._tail))
            self._tail = None
            del self._tail_bases[:], self._tail_starts[:]

    def read(self, offset: int, max_bytes: int, at_least_one: bool, found: list[Chunk]) -> int:
        """Adds whole batches to `found`; see `Segment`."""
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
                if not at_least_one or found:
                    return NO_ROOM
                end = start + 12 + _LENGTH.unpack_from(data, start + 8)[0]
            room -= end - start
            found.append(_piece(data, start, end))
            if end < len(data):
                return NO_ROOM
        return max(room, 0)

    def close(self) -> None:
        """Gives back the room that the tail has kept for more."""
        self._freeze()

    def _data(self, index: int) -> bytes | bytearray:
        if index < len(self._chunks):
            return self._chunks[index]
        assert self._tail is not None, "the last index is the tail's"
        return self._tail

    def _start_of(self, index: int, data: bytes | bytearray, offset: int) -> int:
        """Where in a chunk the batch starts that holds `offset` or comes next after it; its end: there is none."""
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
        """The batches with that time or a later one; see `Segment`."""
        for index, latest in enumerate(self._max_timestamps):
            if latest >= timestamp:
                for batch in batches_of(bytes(self._data(index))):
                    if _TIMESTAMP.unpack_from(batch, _MAX_TIMESTAMP_AT)[0] >= timestamp:
                        yield batch

    def chunks(self) -> Sequence[Chunk]:
        """Everything in order; see `Segment`."""
        return [*self._chunks, bytes(self._tail)] if self._tail is not None else list(self._chunks)

    def replace(self, chunks: Sequence[Chunk]) -> None:
        """Puts `chunks`, whole batches in order, in the place of everything. The offsets it spans stay the same."""
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
    """Where the last whole batch ends that lies within `max_bytes` from `start`."""
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
    """A part of a chunk without a copy; of the tail with one, because a bytearray in use elsewhere cannot grow."""
    if isinstance(data, bytearray):
        with memoryview(data) as view:
            return bytes(view[start:end])
    return data if end - start == len(data) else memoryview(data)[start:end]
