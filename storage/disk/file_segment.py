"""A segment in a file, in Kafka's layout: batches one after the other, and nothing else.

Positions are kept in memory, one per block of at least `INDEX_INTERVAL_BYTES`, as sparse as Kafka's index
(`index.interval.bytes`); within a block the search goes from header to header.
"""

from array import array
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from struct import Struct
from typing import overload

from kohort.storage.disk.files import File
from kohort.storage.segment import INDEX_INTERVAL_BYTES, NO_ROOM, Chunk, Segment, batches_of

_BLOCKS_PER_CHUNK = 8  # A piece of a closed segment is about as large as a chunk of a segment in memory.

_STAMP = Struct(">qii")
_HEAD = Struct(">qi11xi")  # base offset, length and last offset delta
_LENGTH = Struct(">i")
_TIMESTAMP = Struct(">q")
_DELTA_AND_TIMESTAMP = Struct(">i8xq")
_DELTA_AT, _MAX_TIMESTAMP_AT = 23, 35


class FileSegment(Segment):
    """A segment in a given empty file. Reads and writes raise OSError; a failed write leaves the segment unchanged."""

    __slots__ = ("file", "latest_offsets", "max_timestamps", "offsets", "positions")

    def __init__(self, file: File, base_offset: int, created_at_ms: int) -> None:
        super().__init__(base_offset, created_at_ms)
        self.file = file
        # Per block: start position, last offset of its first batch, largest timestamp, and last offset of the batch
        # with that timestamp.
        self.positions = array("q")
        self.offsets = array("q")
        self.max_timestamps = array("q")
        self.latest_offsets = array("q")

    def append(self, batch: bytes, base_offset: int, leader_epoch: int) -> None:
        size = len(batch)
        delta, max_timestamp = _DELTA_AND_TIMESTAMP.unpack_from(batch, _DELTA_AT)
        self.file.append(_STAMP.pack(base_offset, size - 12, leader_epoch) + batch[16:])
        self.note(size, base_offset + delta, max_timestamp)

    def note(self, size_bytes: int, last_offset: int, max_timestamp: int) -> None:
        """Index a batch that is next in the file."""
        at = self.size_bytes
        if not at or at - self.positions[-1] >= INDEX_INTERVAL_BYTES:
            self.positions.append(at)
            self.offsets.append(last_offset)
            self.max_timestamps.append(max_timestamp)
            self.latest_offsets.append(last_offset)
            if not at:
                self.first_timestamp = max_timestamp
        elif max_timestamp > self.max_timestamps[-1]:
            self.max_timestamps[-1] = max_timestamp
            self.latest_offsets[-1] = last_offset
        self.size_bytes = at + size_bytes
        self.next_offset = last_offset + 1
        if max_timestamp > self.max_timestamp:
            self.max_timestamp = max_timestamp

    def note_all(self, chunk: Chunk) -> None:
        """Index complete batches."""
        for batch in batches_of(chunk):
            base, _, delta = _HEAD.unpack_from(batch)
            self.note(len(batch), base + delta, _TIMESTAMP.unpack_from(batch, _MAX_TIMESTAMP_AT)[0])

    def read(self, offset: int, max_bytes: int, at_least_one: bool, chunks: list[Chunk]) -> int:
        start = self._start_of(offset)
        data = self.file.read(start, min(max_bytes, self.size_bytes - start))
        end = 0
        while end + 12 <= len(data):
            after = end + 12 + _LENGTH.unpack_from(data, end + 8)[0]
            if after > len(data):
                break
            end = after
        if not end and start < self.size_bytes and at_least_one and not chunks:
            end = 12 + _LENGTH.unpack(self.file.read(start + 8, 4))[0]
            data = self.file.read(start, end)
        if end:
            chunks.append(data if end == len(data) else memoryview(data)[:end])
        return NO_ROOM if start + end < self.size_bytes else max(max_bytes - end, 0)

    def _start_of(self, offset: int) -> int:
        """Return the position of the batch that contains `offset` or follows it, or the file size."""
        block = bisect_right(self.offsets, offset) - 1
        if block < 0:
            return 0
        # It may be the first batch of the next block, which begins where this one ends.
        at = self.positions[block]
        for batch in batches_of(self._blocks(block, block + 1)):
            base, _, delta = _HEAD.unpack_from(batch)
            if base + delta >= offset:
                return at
            at += len(batch)
        return at

    def _blocks(self, first: int, end: int) -> bytes:
        """Read the blocks from `first` to before `end`."""
        start = self.positions[first]
        stop = self.positions[end] if end < len(self.positions) else self.size_bytes
        return self.file.read(start, stop - start)

    def close(self) -> None:
        pass

    def batches_since(self, timestamp: int) -> Iterator[Chunk]:
        for number, latest in enumerate(self.max_timestamps):
            if latest >= timestamp:
                for batch in batches_of(self._blocks(number, number + 1)):
                    if _TIMESTAMP.unpack_from(batch, _MAX_TIMESTAMP_AT)[0] >= timestamp:
                        yield batch

    def chunks(self) -> Sequence[Chunk]:
        """Return all batches in order; each piece is read on access."""
        return _Pieces(self)


class _Pieces(Sequence[Chunk]):
    """The pieces of a closed segment, read from the file on access."""

    def __init__(self, segment: FileSegment) -> None:
        self._segment = segment

    def __len__(self) -> int:
        return -(-len(self._segment.positions) // _BLOCKS_PER_CHUNK)

    @overload
    def __getitem__(self, number: int) -> Chunk: ...
    @overload
    def __getitem__(self, number: slice) -> Sequence[Chunk]: ...
    def __getitem__(self, number: int | slice) -> Chunk | Sequence[Chunk]:
        if isinstance(number, slice):
            return [self[index] for index in range(*number.indices(len(self)))]
        if not 0 <= number < len(self):
            raise IndexError(number)
        first = number * _BLOCKS_PER_CHUNK
        return self._segment._blocks(first, min(first + _BLOCKS_PER_CHUNK, len(self._segment.positions)))
