"""Figures from commits: gaps around a rebalance, progress, silences, rewinds."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from kohort.pipeline.history.inputs import GroupInput, PartitionCommits, TopicPartition
from kohort.pipeline.records.offset_commits import Ints

HOUR_MS = 3_600_000
FEWEST_FOR_A_BASE = 5  # minimum number of commits; a usual gap is the median of the last hour outside of rebalances


@dataclass(slots=True)
class Around:
    """Commits of one partition around a rebalance.

    None if a commit is missing, or if there are too few to compare with.
    """

    last_before_ms: int | None = None
    first_after_ms: int | None = None
    last_committed: int | None = None
    first_committed: int | None = None
    base_ms: float | None = None

    @property
    def gap_ms(self) -> int | None:
        if self.last_before_ms is None or self.first_after_ms is None:
            return None
        return self.first_after_ms - self.last_before_ms

    @property
    def excess_ms(self) -> int | None:
        gap = self.gap_ms
        return None if gap is None or self.base_ms is None else max(0, round(gap - self.base_ms))

    @property
    def reread(self) -> int:
        """Number of offsets that the first commit after the rebalance is behind the last one before it."""
        if self.last_committed is None or self.first_committed is None:
            return 0
        return max(0, self.last_committed - self.first_committed)


@dataclass(slots=True)
class Partition:
    """Commits of a partition and derived columns.

    Only columns that are used repeatedly are kept, as a group may have fifty million commits. Slices are subtracted
    because `np.diff` takes ten times as long for the few commits that most groups have.
    """

    commits: PartitionCommits
    # indexes of commits whose preceding gap is outside of every rebalance
    quiet: np.ndarray[tuple[int], np.dtype[np.int32]]
    quiet_ms: Ints = field(init=False)
    moved_ms: Ints = field(init=False)  # times at which the position advanced, without the first commit
    rewinds: list[int] = field(init=False)  # indexes of commits after which a lower offset was committed
    sorted_ms: Ints = field(init=False)
    usual_gap_ms: float | None = field(init=False)

    def __post_init__(self) -> None:
        times, deltas = self.commits.ts_ms, self.deltas
        forward = deltas > 0
        self.quiet_ms = times[self.quiet]
        self.moved_ms = times[1:] if forward.all() else times[1:][forward]
        self.rewinds = (deltas < 0).nonzero()[0].tolist()
        self.sorted_ms = times if (times[1:] >= times[:-1]).all() else np.sort(times)
        enough = len(self.quiet) >= FEWEST_FOR_A_BASE
        self.usual_gap_ms = median(self.quiet_gaps(0, len(self.quiet))) if enough else None

    @property
    def gaps(self) -> Ints:
        return self.commits.ts_ms[1:] - self.commits.ts_ms[:-1]

    @property
    def deltas(self) -> Ints:
        return self.commits.committed[1:] - self.commits.committed[:-1]

    @property
    def advances(self) -> Ints:
        """Offsets advanced at each of `moved_ms`."""
        deltas = self.deltas
        return deltas if len(deltas) == len(self.moved_ms) else deltas[deltas > 0]

    def quiet_gaps(self, low: int, high: int) -> Ints:
        """Return the gaps whose end is in the given range of `quiet`."""
        ends, times = self.quiet[low:high], self.commits.ts_ms
        gaps: Ints = times[ends] - times[ends - 1]
        return gaps


@dataclass(slots=True)
class CommitHistory:
    """All commits of a group. `busy` holds its rebalances as (start, end), in order."""

    partitions: dict[TopicPartition, Partition] = field(default_factory=dict)
    # times at which any partition of the group advanced, in order
    progress_ms: Ints = field(default_factory=lambda: np.zeros(0, np.int64))
    count: int = 0
    first_ms: int | None = None
    last_ms: int | None = None

    @classmethod
    def of(cls, group: GroupInput, busy: list[tuple[int, int]]) -> CommitHistory:
        history = cls()
        starts = np.array([start for start, _ in busy], np.int64)
        ends = np.array([end for _, end in busy], np.int64)
        progress = []
        for topic_partition, commits in group.commits.items():
            times = commits.ts_ms
            if not len(times):
                continue
            # a gap touches a rebalance when one ends after its beginning and starts before its end
            if busy:
                touching = starts.searchsorted(times[1:], "right") > ends.searchsorted(times[:-1], "left")
                quiet = (np.flatnonzero(~touching) + 1).astype(np.int32)
            else:
                quiet = np.arange(1, len(times), dtype=np.int32)
            partition = history.partitions[topic_partition] = Partition(commits, quiet)
            progress += [times[:1], partition.moved_ms]
            history.count += len(times)
        if progress:
            history.progress_ms = np.concatenate(progress)
            history.progress_ms.sort()
            every = [p.commits.ts_ms for p in history.partitions.values()]
            history.first_ms = int(min(times[0] for times in every))
            history.last_ms = int(max(times[-1] for times in every))
        return history

    def around(self, topic_partition: TopicPartition, barrier_ms: int, stable_ms: int) -> Around:
        """Return the commits around a rebalance.

        The gap is the first commit at or after `stable_ms` minus the last one at or before `barrier_ms`.
        """
        partition = self.partitions.get(topic_partition)
        if partition is None:
            return Around()
        times, committed = partition.commits.ts_ms, partition.commits.committed
        last_index = int(np.searchsorted(times, barrier_ms, "right")) - 1
        after = int(np.searchsorted(times, stable_ms, "left"))
        return Around(
            int(times[last_index]) if last_index >= 0 else None,
            int(times[after]) if after < len(times) else None,
            int(committed[last_index]) if last_index >= 0 else None,
            int(committed[after]) if after < len(times) else None,
            self.base_ms(topic_partition, barrier_ms),
        )

    def base_ms(self, topic_partition: TopicPartition, at_ms: int) -> float | None:
        """Return the usual gap of a partition: the median over the preceding hour, outside of rebalances."""
        partition = self.partitions[topic_partition]
        low, high = np.searchsorted(partition.quiet_ms, (at_ms - HOUR_MS, at_ms))
        if high - low < FEWEST_FOR_A_BASE:
            return None
        return median(partition.quiet_gaps(low, high))

    def usual_gap_ms(self, topic_partition: TopicPartition) -> float | None:
        """Return the usual gap of a partition over the whole history, or None with too few commits."""
        partition = self.partitions.get(topic_partition)
        return None if partition is None else partition.usual_gap_ms

    def throughput(self, topic_partition: TopicPartition, at_ms: int) -> float:
        partition = self.partitions.get(topic_partition)
        if partition is None:
            return 0.0
        times, committed = partition.commits.ts_ms, partition.commits.committed
        low, high = np.searchsorted(times, (at_ms - HOUR_MS, at_ms))
        if high - low < 2:
            return 0.0
        seconds = (times[high - 1] - times[low]) / 1000
        return float(max(0, committed[high - 1] - committed[low]) / seconds) if seconds > 0 else 0.0

    def last_of(self, topic_partitions: set[TopicPartition], until_ms: int) -> int | None:
        latest = None
        for topic_partition in topic_partitions:
            if partition := self.partitions.get(topic_partition):
                n = int(np.searchsorted(partition.commits.ts_ms, until_ms, "right")) - 1
                if n >= 0:
                    latest = max(latest or 0, int(partition.commits.ts_ms[n]))
        return latest

    def first_of(self, topic_partitions: set[TopicPartition], from_ms: int) -> int | None:
        earliest: int | None = None
        for topic_partition in topic_partitions:
            if partition := self.partitions.get(topic_partition):
                n = int(np.searchsorted(partition.commits.ts_ms, from_ms, "left"))
                if n < len(partition.commits.ts_ms):
                    ts_ms = int(partition.commits.ts_ms[n])
                    earliest = ts_ms if earliest is None else min(earliest, ts_ms)
        return earliest

    def between(self, from_ms: int, until_ms: int) -> tuple[int, int]:
        """Return (commits, offsets advanced) with from_ms < time <= until_ms."""
        commits = advanced = 0
        for partition in self.partitions.values():
            low, high = np.searchsorted(partition.commits.ts_ms, (from_ms, until_ms), "right")
            commits += int(high - low)
            if high > low:
                start_offset = partition.commits.committed[low - 1] if low else partition.commits.committed[low]
                advanced += max(0, int(partition.commits.committed[high - 1] - start_offset))
        return commits, advanced

    def silences(self, longest_usual_ms: int, until_ms: int) -> list[tuple[int, int]]:
        """Return the periods without progress of any partition that are longer than `longest_usual_ms`, as (from, to).

        Args:
            until_ms: End of the analyzed period. The last silence may end there.
        """
        moments = self.progress_ms
        if len(moments) and until_ms > moments[-1]:
            moments = np.append(moments, until_ms)
        gaps = np.diff(moments)
        return [(int(moments[n]), int(moments[n + 1])) for n in np.flatnonzero(gaps > longest_usual_ms)]

    def silence_over(self, start_ms: int, end_ms: int) -> tuple[int, int] | None:
        """Return the longest period without progress that overlaps the given one, in full, or None without commits."""
        times = self.progress_ms
        if len(times) < 2:
            return None
        low = max(0, int(np.searchsorted(times, start_ms, "right")) - 1)
        high = min(len(times) - 1, int(np.searchsorted(times, end_ms, "left")))
        if high <= low:
            return None
        n = low + int(np.argmax(np.diff(times[low : high + 1])))
        return int(times[n]), int(times[n + 1])

    def usual_step_ms(self) -> float | None:
        """Return the usual time between advances of the busiest partition, or None if every partition has too few.

        Advances of the whole group are not suitable: members that commit once a minute, one after the other, would seem
        to commit every few seconds.
        """
        return min((median_gap(p.moved_ms) for p in self.partitions.values() if len(p.moved_ms) > 2), default=None)


def median(values: Ints) -> float:
    """Return the median of at least one value. `np.median` takes five times as long for few values."""
    high = len(values) // 2
    low = (len(values) - 1) // 2
    ordered = np.partition(values, (low, high))
    return (int(ordered[low]) + int(ordered[high])) / 2


def median_gap(times: Ints) -> float:
    """Return the median time between two consecutive ones of at least two times."""
    return median(times[1:] - times[:-1])


def distinct(parts: list[Ints]) -> Ints:
    """Return the distinct values of several columns, in order.

    Sorts, because numpy's hashes take minutes for some values.
    """
    if not parts:
        return np.zeros(0, np.int64)
    values = np.concatenate(parts)
    values.sort()
    return values[np.concatenate(([True], values[1:] != values[:-1]))] if len(values) else values
