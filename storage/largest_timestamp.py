"""Finds the record with the largest timestamp (KIP-734), which counts while its segment exists, deleted or not.

Source: Kafka's `UnifiedLog.fetchOffsetByTimestamp`, `LogSegment.readMaxTimestampAndOffsetSoFar`.
"""

from collections.abc import Generator, Sequence

from kohort.storage.batch_records import find_time
from kohort.storage.segment import Segment

TimeAndOffset = tuple[int, int]


def largest_timestamp(
    segments: Sequence[Segment], dropped: TimeAndOffset | None
) -> Generator[None, None, TimeAndOffset | None]:
    """Find the largest timestamp and the first offset that has it, or None in an empty log. Works in slices.

    Args:
        gone: Result of `of_dropped` for a segment that is dropped here and still counts in Kafka.
    """
    segment = max(segments, key=_largest_of, default=None)
    if segment is None or (dropped is not None and dropped[0] >= segment.max_timestamp):
        return dropped
    return (yield from _first(segment))


def of_dropped(segment: Segment, dropped: TimeAndOffset | None) -> TimeAndOffset | None:
    """Return the timestamp to remember of an open segment that is dropped because all its records are deleted.

    Kafka keeps that segment.
    """
    steps = _first(segment)
    while True:
        try:
            next(steps)
        except StopIteration as end:
            largest: TimeAndOffset | None = end.value
            return largest if dropped is None or (largest is not None and largest[0] > dropped[0]) else dropped


def _first(segment: Segment) -> Generator[None, None, TimeAndOffset | None]:
    for batch in segment.batches_since(segment.max_timestamp) if segment.max_timestamp >= 0 else ():
        largest = yield from find_time(batch, segment.max_timestamp, segment.base_offset)
        if largest is not None:
            return largest
        yield
    return None


def _largest_of(segment: Segment) -> int:
    return segment.max_timestamp
