"""Index files of a segment in Kafka's format, for Kafka and its tools. kohort does not read them.

Source: Kafka's `OffsetIndex` and `TimeIndex`.
"""

from struct import Struct

from kohort.storage.disk.file_segment import FileSegment

OFFSET_INDEX, TIME_INDEX = ".index", ".timeindex"
# suffixes instead of `.log`

_OFFSET_ENTRY = Struct(">ii")  # relative offset, and position of the batch that ends with it
_TIME_ENTRY = Struct(">qi")  # largest timestamp so far, and relative offset of its batch


def offset_index(segment: FileSegment) -> bytes:
    """Build the offset index: relative offsets and positions of all blocks except the first."""
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
