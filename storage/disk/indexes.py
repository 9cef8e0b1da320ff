"""A segment's index files in Kafka's format. Nobody here reads them: they are for Kafka's own tools, and for Kafka.

Source: Kafka's `OffsetIndex` and `TimeIndex`.
"""

from struct import Struct

from kohort.storage.disk.file_segment import FileSegment

OFFSET_INDEX, TIME_INDEX = ".index", ".timeindex"
"""Endings that take the place of `.log`."""

_OFFSET_ENTRY = Struct(">ii")
"""Offset, counted from the segment's first, and the position of the batch that ends with it."""
_TIME_ENTRY = Struct(">qi")
"""The largest timestamp so far, and the offset of the batch that has it, counted in the same way."""


def offset_index(segment: FileSegment) -> bytes:
    """Where batches lie, but for the first one: that is known."""
    base = segment.base_offset
    entries = zip(segment.offsets[1:], segment.positions[1:], strict=True)
    return b"".join(_OFFSET_ENTRY.pack(offset - base, position) for offset, position in entries)


def time_index(segment: FileSegment) -> bytes:
    """Build the time index: increasing timestamps and their offsets."""
    latest = -1
    entries = []
    for timestamp, offset in zip(segment.max_timestamps, segment.latest_offsets, strict=True):
        if timestamp > latest:
            latest = timestamp
            entries.append(_TIME_ENTRY.pack(timestamp, offset - segment.base_offset))
    return b"".join(entries)
