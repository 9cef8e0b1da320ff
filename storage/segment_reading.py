"""Finds an offset among the segments of a log, and the end of a read from there."""

from bisect import bisect_left
from collections.abc import Sequence

from kohort.storage.segment import INDEX_INTERVAL_BYTES, NO_ROOM, Chunk, Segment


def read(
    segments: Sequence[Segment], offset: int, room: int, at_least_one: bool, *, everywhere: bool
) -> tuple[list[Chunk], bool]:
    """Return complete batches within `room`, and whether the limit cut them short; see `PartitionLog.read`.

    Args:
        everywhere: Read from all segments. A fetch reads only the first one that has batches (Kafka's `LocalLog.read`;
            observed on 4.3.0).
    """
    chunks: list[Chunk] = []
    for index in range(_first_at_or_after(segments, offset), len(segments)):
        segment = segments[index]
        if chunks and not (everywhere or segment.goes_on):
            break
        room = segment.read(offset, room, at_least_one, chunks)
        if room == NO_ROOM:
            return chunks, True
    return chunks, False


def is_in_older(segments: Sequence[Segment], offset: int, end: int) -> bool:
    """Return whether `offset` is in an earlier segment than `end` (Kafka's `LogOffsetMetadata.onOlderSegment`)."""
    first = _first_at_or_after(segments, offset)
    last = min(_first_at_or_after(segments, end), len(segments) - 1)
    return not all(segments[index].goes_on for index in range(first + 1, last + 1))


def aborted_until(segments: Sequence[Segment], offset: int, end: int, log_end_offset: int) -> int:
    """Return the offset before which a fetch reports aborted transactions, given that it read from `offset` to `end`.

    Kafka looks up to the next entry of the offset index. A segment of at most 4 KiB has no entry and is searched to its
    end. In a larger segment Kafka may look some KiB further than `end`, which is not done here. Source:
    `UnifiedLog.addAbortedTransactions`; observed on 4.3.0.
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
    """Return the index of the segment in which a read from `offset` starts."""
    return bisect_left(segments, offset, key=_last_offset)


def _last_offset(segment: Segment) -> int:
    return segment.next_offset - 1
