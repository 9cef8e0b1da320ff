"""Where an offset is among the segments of a log, and how far a read goes from there."""

from bisect import bisect_left
from collections.abc import Sequence

from kohort.storage.segment import INDEX_INTERVAL_BYTES, NO_ROOM, Chunk, Segment


def read(
    segments: Sequence[Segment], offset: int, room: int, at_least_one: bool, *, everywhere: bool
) -> tuple[list[Chunk], bool]:
    """Whole batches within `room`, and whether that left something out; see `PartitionLog.read`.

    everywhere: from all segments. A fetch gets those of the first that has any (Kafka's `LocalLog.read`; heard from
    4.3.0).
    """
    found: list[Chunk] = []
    for index in range(_first_at_or_after(segments, offset), len(segments)):
        segment = segments[index]
        if found and not (everywhere or segment.goes_on):
            break
        room = segment.read(offset, room, at_least_one, found)
        if room == NO_ROOM:
            return found, True
    return found, False


def is_in_older(segments: Sequence[Segment], offset: int, end: int) -> bool:
    """Whether `offset` is in an earlier segment than `end` (Kafka's `LogOffsetMetadata.onOlderSegment`)."""
    first = _first_at_or_after(segments, offset)
    last = min(_first_at_or_after(segments, end), len(segments) - 1)
    return not all(segments[index].goes_on for index in range(first + 1, last + 1))


def aborted_until(segments: Sequence[Segment], offset: int, end: int, log_end_offset: int) -> int:
    """Before which offset aborted transactions begin that a fetch tells of; it got what lies between the two.

    Kafka looks up to the next entry of the offset index. A segment of at most 4 KiB has none, and is looked through to
    its end. In a larger one Kafka may go on for some KiB behind `end`, which is not done here. Source:
    `UnifiedLog.addAbortedTransactions`; heard from 4.3.0.
    """
    size = 0
    for index in range(_first_at_or_after(segments, offset), len(segments)):
        segment = segments[index]
        if size and not segment.goes_on:
            return segment.base_offset
        size += segment.size_bytes
        if size > INDEX_INTERVAL_BYTES:
            return end
    return log_end_offset


def _first_at_or_after(segments: Sequence[Segment], offset: int) -> int:
    """The index of the segment in which reading from `offset` starts."""
    return bisect_left(segments, offset, key=_last_offset)


def _last_offset(segment: Segment) -> int:
    return segment.next_offset - 1
