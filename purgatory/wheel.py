"""A hierarchical timing wheel: add and cancel in O(1), advance without looking at entries that are not due.

Level 0 has 20 buckets of 1 ms; each further level's tick is the span of the level below it (20 ms, 400 ms, 8 s, …), as
in Kafka's `TimingWheel`. Levels are created when first needed. A distant entry is in a coarse bucket; when that bucket
is due the entry moves to a finer one, and finally expires. Only buckets, never entries, are in the priority queue.

A bucket is a dict used as an ordered set: removal is O(1) in C, and the order of insertion, hence of expiry, does not
depend on memory addresses.
"""

from heapq import heappop, heappush
from typing import Final

from mypy_extensions import mypyc_attr

BUCKETS: Final = 20  # Buckets per level, as in Kafka (`SystemTimer`, wheelSize).


@mypyc_attr(allow_interpreted_subclasses=True)
class TimerEntry:
    """An entry that is due once. It is on at most one wheel, in at most one bucket."""

    __slots__ = ("_bucket", "_sequence", "deadline_ms")

    def __init__(self, deadline_ms: int) -> None:
        self.deadline_ms = deadline_ms
        self._bucket: _Bucket | None = None
        self._sequence = 0

    @property
    def scheduled(self) -> bool:
        """Whether the entry is on a wheel."""
        return self._bucket is not None


OUT_OF_QUEUE: Final = -1  # `start_ms` of a bucket that has left the queue.


class _Bucket(dict[TimerEntry, None]):
    """Entries whose deadlines are in one tick of one level, which starts at `start_ms`."""

    __slots__ = ("start_ms",)

    start_ms: int


class _Level:
    __slots__ = ("buckets", "span_ms", "tick_ms")

    def __init__(self, tick_ms: int) -> None:
        self.tick_ms = tick_ms
        self.span_ms = tick_ms * BUCKETS
        self.buckets: list[_Bucket | None] = [None] * BUCKETS


class TimingWheel:
    """Holds entries until `advance` reaches their deadline. All times are monotonic milliseconds."""

    def __init__(self, now_ms: int = 0) -> None:
        self.now_ms = now_ms
        self._levels = [_Level(1)]
        self._queue: list[tuple[int, int, _Bucket]] = []
        self._sequence = 0
        self._count = 0

    def __len__(self) -> int:
        """Return the number of waiting entries."""
        return self._count

    @property
    def next_wakeup_ms(self) -> int | None:
        """Time of the next `advance`, or None if the wheel is empty. Not later than the earliest deadline."""
        queue = self._queue
        while queue and not queue[0][2]:
            heappop(queue)[2].start_ms = OUT_OF_QUEUE
        return queue[0][0] if queue else None

    def add(self, entry: TimerEntry) -> bool:
        """Schedule `entry` for its `deadline_ms`. Return whether `next_wakeup_ms` may be earlier than before.

        An entry whose deadline has passed is due at the next `advance`.
        """
        assert entry._bucket is None, "an entry is on one wheel at a time"
        self._sequence += 1
        entry._sequence = self._sequence
        self._count += 1
        return self._place(entry)

    def set_deadline(self, entry: TimerEntry, deadline_ms: int) -> bool:
        """Set the deadline of an entry. Return whether `next_wakeup_ms` may be earlier than before.

        The entry only moves if its bucket is due too late. Otherwise `advance` looks at the deadline in time.
        """
        entry.deadline_ms = deadline_ms
        bucket = entry._bucket
        if bucket is None or bucket.start_ms <= deadline_ms:
            return False
        del bucket[entry]
        return self._place(entry)

    def cancel(self, entry: TimerEntry) -> bool:
        """Remove `entry` from the wheel and return whether it was on it."""
        bucket = entry._bucket
        if bucket is None:
            return False
        del bucket[entry]
        entry._bucket = None
        self._count -= 1
        return True

    def advance(self, now_ms: int) -> list[TimerEntry]:
        """Move to `now_ms` and return the due entries, ordered by deadline and then by insertion."""
        queue = self._queue
        due: list[TimerEntry] = []
        while queue and queue[0][0] <= now_ms:
            _, _, bucket = heappop(queue)
            self.now_ms = max(self.now_ms, bucket.start_ms)
            bucket.start_ms = OUT_OF_QUEUE
            entries = list(bucket)
            bucket.clear()
            for entry in entries:
                if entry.deadline_ms <= now_ms:
                    entry._bucket = None
                    due.append(entry)
                else:
                    self._place(entry)
        self.now_ms = max(self.now_ms, now_ms)
        self._count -= len(due)
        due.sort(key=_by_deadline)
        return due

    def _place(self, entry: TimerEntry) -> bool:
        """Put an entry in its bucket. Return whether that is a new one at the front of the queue."""
        now_ms = self.now_ms
        moment = max(entry.deadline_ms, now_ms)
        number = 0
        levels = self._levels
        level = levels[0]
        # A level covers the BUCKETS ticks from the one that `now` is in.
        while moment // level.tick_ms - now_ms // level.tick_ms >= BUCKETS:
            number += 1
            if number == len(levels):
                levels.append(_Level(level.span_ms))
            level = levels[number]
        tick = moment // level.tick_ms
        bucket = level.buckets[tick % BUCKETS]
        start_ms = tick * level.tick_ms
        if bucket is None or bucket.start_ms != start_ms:
            # A bucket of an earlier round may still be in the queue, with entries that were cancelled or postponed.
            bucket = _Bucket()
            bucket.start_ms = start_ms
            level.buckets[tick % BUCKETS] = bucket
            self._sequence += 1
            heappush(self._queue, (start_ms, self._sequence, bucket))
            is_next = self._queue[0][2] is bucket
        else:
            is_next = False
        bucket[entry] = None
        entry._bucket = bucket
        return is_next


def _by_deadline(entry: TimerEntry) -> tuple[int, int]:
    return entry.deadline_ms, entry._sequence
