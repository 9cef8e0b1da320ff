"""The record with the largest timestamp (KIP-734), which counts as long as its segment is there, deleted or not.

Source: Kafka's `UnifiedLog.fetchOffsetByTimestamp`, `LogSegment.readMaxTimestampAndOffsetSoFar`.
"""

from collections.abc import Generator, Sequence

from kohort.storage.batch_records import find_time
from kohort.storage.segment import Segment

TimeAndOffset = tuple[int, int]


def largest_timestamp(
    segments: Sequence[Segment], gone: TimeAndOffset | None
) -> Generator[None, None, TimeAndOffset | None]:
    """The largest timestamp and the first offset that has it; None: there is none. A little at a step.

    `gone`: what `of_dropped` has said of a segment that counts here no more, and does in Kafka.
    """
    segment = max(segments, key=_largest_of, default=None)
    if segment is None or (gone is not None and gone[0] >= segment.max_timestamp):
        return gone
    return (yield from _first(segment))


def of_dropped(segment: Segment, gone: TimeAndOffset | None) -> TimeAndOffset | None:
    """What is to be remembered of an open segment that goes because all its records are deleted: Kafka keeps it."""
    steps = _first(segment)
    while True:
        try:
            next(steps)
        except StopIteration as end:
            found: TimeAndOffset | None = end.value
            return found if gone is None or (found is not None and found[0] > gone[0]) else gone


def _first(segment: Segment) -> Generator[None, None, TimeAndOffset | None]:
    for batch in segment.batches_since(segment.max_timestamp) if segment.max_timestamp >= 0 else ():
        found = yield from find_time(batch, segment.max_timestamp, segment.base_offset)
        if found is not None:
            return found
        yield
    return None


def _largest_of(segment: Segment) -> int:
    return segment.max_timestamp
