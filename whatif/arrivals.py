"""When records were appended, from samples of log ends and from commits."""

from __future__ import annotations

from array import array
from statistics import median

import numpy as np

from kohort.pipeline.history.inputs import GroupInput, LogEnds, PartitionCommits
from kohort.pipeline.records.offset_commits import Ints
from kohort.whatif.script import Origin, Sourced

COMMIT_MS = 5  # from the end of the work on a batch to the commit in the log, and from an append to its fetch
MAX_RECORDS = 500_000  # more records of a partition are represented by one in several


def arrivals_of(
    group: GroupInput, topic: str, begin_ms: int, end_ms: int, work_ms: int, *, commits_each_batch: bool
) -> tuple[dict[int, array[int]], list[Sourced]]:
    """Return the append times of each partition in milliseconds since `begin_ms`, by offset since then.

    Samples of log ends give the number of records in each interval, at even distances. Where each batch is committed,
    commits show how far the records of a partition are from that: a commit follows the append of its last record by
    the work on a batch.
    """
    partitions = sorted(
        {partition for name, partition in group.ends if name == topic}
        | {partition for name, partition in group.commits if name == topic}
    )
    arrivals: dict[int, array[int]] = {}
    sampled = aligned = 0
    for partition in partitions:
        ends, commits = group.ends.get((topic, partition)), group.commits.get((topic, partition))
        if ends is not None and len(ends.sampled_ms) > 1:
            times = _from_samples(ends, begin_ms, end_ms)
            sampled += 1
        elif commits is not None:
            times = _from_commits(commits, begin_ms, end_ms)
        else:
            continue
        if commits is not None and commits_each_batch and ends is not None:
            base = base_offset(ends, begin_ms, end_ms)
            shift = _shift(times, commits, base, begin_ms, work_ms)
            if shift is not None:
                times = [ms + shift for ms in times]
                aligned += 1
        arrivals[partition] = array("q", sorted(max(round(ms), 0) for ms in times))
    rate = sum(len(times) for times in arrivals.values()) / max(len(arrivals), 1) / max((end_ms - begin_ms) / 1000, 1)
    origin: Origin = "observed" if sampled == len(partitions) else "inferred"
    rule = "samples of log ends, evenly spread between two" if sampled else "advance of the commits"
    if aligned:
        rule += "; moved to fit commits"
    return arrivals, [Sourced("arrival of records", f"{rate:.2g} per second and partition", origin, rule)]


def _from_samples(ends: LogEnds, begin_ms: int, end_ms: int) -> list[float]:
    times: list[float] = []
    sampled, counts = ends.sampled_ms, ends.log_end
    inside = (sampled >= begin_ms) & (sampled <= end_ms)
    sampled, counts = sampled[inside], counts[inside]
    if not len(counts):
        return times
    if _is_born_inside(ends, sampled, counts):
        sampled = np.concatenate(([max(2 * sampled[0] - sampled[1], begin_ms)], sampled))
        counts = np.concatenate(([0], counts))
    total = int(counts[-1] - counts[0])
    stride = max(1, total // MAX_RECORDS)
    for start, end, low, high in zip(sampled, sampled[1:], counts, counts[1:], strict=False):
        count = int(high - low) // stride
        if count > 0:
            step = (int(end) - int(start)) / count
            times += [int(start) - begin_ms + step * (number + 0.5) for number in range(count)]
    if len(sampled) and times and len(sampled) > 2:
        # The samples may end previous the period does.
        last, step = times[-1], median(np.diff(times[-20:])) if len(times) > 20 else 0.0
        while step > 0 and last + step < end_ms - begin_ms and len(times) < MAX_RECORDS:
            last += step
            times.append(last)
    return times


def _is_born_inside(ends: LogEnds, sampled: Ints, counts: Ints) -> bool:
    """Return whether the first sample shows the first records of a new partition."""
    if len(counts) < 3 or int(ends.log_start[0]) or not counts[0] or ends.sampled_ms[0] != sampled[0]:
        return False
    usual = (int(counts[-1]) - int(counts[0])) / (len(counts) - 1)
    return bool(counts[0] <= 2 * usual + 1)


def base_offset(ends: LogEnds | None, begin_ms: int, end_ms: int) -> int:
    """Return the offset of the first arrival since `begin_ms`."""
    if ends is None:
        return 0
    inside = (ends.sampled_ms >= begin_ms) & (ends.sampled_ms <= end_ms)
    sampled, counts = ends.sampled_ms[inside], ends.log_end[inside]
    return 0 if not len(counts) or _is_born_inside(ends, sampled, counts) else int(counts[0])


def _from_commits(commits: PartitionCommits, begin_ms: int, end_ms: int) -> list[float]:
    times: list[float] = []
    previous: tuple[int, int] | None = None
    for ts_ms, offset in zip(commits.ts_ms.tolist(), commits.committed.tolist(), strict=True):
        if (
            previous is not None
            and begin_ms <= ts_ms <= end_ms
            and offset > previous[1]
            and offset - previous[1] < 100_000
        ):
            count = offset - previous[1]
            step = (ts_ms - previous[0]) / count
            times += [previous[0] - begin_ms + step * (number + 1) for number in range(count)]
        if previous is None or offset > previous[1]:
            previous = ts_ms, offset
    return times


def _shift(times: list[float], commits: PartitionCommits, base: int, begin_ms: int, work_ms: int) -> float | None:
    """Return by how much records were appended later than assumed, or None if commits do not show it."""
    delays = []
    position = base
    for ts_ms, offset in zip(commits.ts_ms.tolist(), commits.committed.tolist(), strict=True):
        if offset == position + 1 and 0 <= position - base < len(times):
            delays.append(ts_ms - begin_ms - work_ms - COMMIT_MS - times[position - base])
        position = max(position, offset)
    if len(delays) < 10:
        return None
    usual = median(delays)
    spread = float(np.percentile(delays, 60) - np.percentile(delays, 20))
    step = times[-1] / max(len(times), 1)
    return usual if spread < step / 2 and abs(usual) <= step else None
