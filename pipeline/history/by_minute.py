"""Time series: commits and lag of each partition by minute, and the throughput of the whole group."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from kohort.pipeline.history.commit_history import CommitHistory, Partition, distinct
from kohort.pipeline.history.group_analysis import GroupAnalysis
from kohort.pipeline.history.inputs import GroupInput, TopicPartition
from kohort.pipeline.history.lag import time_lag_ms
from kohort.pipeline.history.share_history import ShareHistory

MINUTE_MS = 60_000
STEPS_MS = (1_000, 2_000, 5_000, 10_000, 15_000, 30_000, 60_000, 120_000, 300_000, 600_000, 1_800_000, 3_600_000)
MOST_STEPS = 900
_COMMITS_AT_ONCE = 100_000
_ZERO = np.zeros(1, np.int64)


class CommitMinute(NamedTuple):
    """Commits, offsets advanced (rewinds don't count), longest gap ending in the minute, and rewinds."""

    minute: int
    commits: int
    advanced: int
    max_gap_ms: int
    rewinds: int


class LagMinute(NamedTuple):
    """Lag at the last sample of a minute, in records and in time. `owner` is the member's name."""

    minute: int
    lag: int
    time_lag_ms: int | None
    owner: str | None


class ThroughputStep(NamedTuple):
    """Offsets that a group's commits advanced in one time step."""

    start_ms: int
    step_ms: int
    offsets: int


def commit_minutes(commits: CommitHistory) -> Iterator[tuple[TopicPartition, CommitMinute]]:
    for portion in _portions(commits):
        yield from _commit_minutes(portion)


def _portions(commits: CommitHistory) -> Iterator[dict[TopicPartition, Partition]]:
    """Yield partitions with few commits together: a numpy call costs as much for one commit as for a thousand."""
    portion: dict[TopicPartition, Partition] = {}
    count = 0
    for topic_partition, partition in commits.partitions.items():
        portion[topic_partition] = partition
        count += len(partition.commits.ts_ms)
        if count >= _COMMITS_AT_ONCE:
            yield portion
            portion, count = {}, 0
    if portion:
        yield portion


def _commit_minutes(partitions: dict[TopicPartition, Partition]) -> Iterator[tuple[TopicPartition, CommitMinute]]:
    places, commits = list(partitions), [partition.commits for partition in partitions.values()]
    lengths = np.array([len(of_partition.ts_ms) for of_partition in commits])
    times = np.concatenate([of_partition.ts_ms for of_partition in commits])
    committed = np.concatenate([of_partition.committed for of_partition in commits])
    number = np.repeat(np.arange(len(places), dtype=np.int32), lengths)
    minute, delta, gap = times // MINUTE_MS, np.zeros_like(times), np.zeros_like(times)
    np.subtract(committed[1:], committed[:-1], out=delta[1:])
    np.subtract(times[1:], times[:-1], out=gap[1:])
    first = np.cumsum(lengths) - lengths
    delta[first] = gap[first] = 0  # nothing precedes the first commit of a partition
    is_same = number[1:] == number[:-1]
    if (is_same & (minute[1:] < minute[:-1])).any():  # a broker's clock was set back
        order = np.lexsort((minute, number))
        minute, delta, gap = minute[order], delta[order], gap[order]
    start = np.concatenate((_ZERO, np.flatnonzero(~is_same | (minute[1:] != minute[:-1])) + 1))
    counts = np.diff(start, append=len(times))
    advanced = np.add.reduceat(np.maximum(delta, 0), start)
    longest = np.maximum.reduceat(gap, start)
    back = np.add.reduceat((delta < 0).astype(np.int64), start)
    columns = (number[start], minute[start] * MINUTE_MS, counts, advanced, longest, back)
    for n, *values in zip(*(column.tolist() for column in columns), strict=True):
        yield places[n], CommitMinute(*values)


def lag_minutes(analysis: GroupAnalysis) -> Iterator[tuple[TopicPartition, LagMinute]]:
    if analysis.share is not None:
        yield from _share_lag_minutes(analysis.group, analysis.share)
    for topic_partition, ends in analysis.group.ends.items():
        commits = analysis.group.commits.get(topic_partition)
        if commits is None or not len(commits.ts_ms) or not len(ends.sampled_ms):
            continue
        minutes = ends.sampled_ms // MINUTE_MS
        last = (minutes[1:] != minutes[:-1]).nonzero()[0].tolist()
        for n in (*last, len(minutes) - 1):
            now = int(ends.sampled_ms[n])
            at = int(commits.ts_ms.searchsorted(now, "right")) - 1
            if at < 0:
                continue
            committed = int(commits.committed[at])
            lag = max(0, int(ends.log_end[n]) - max(committed, int(ends.log_start[n])))
            behind_ms = time_lag_ms(ends, committed, now) if lag else 0
            owner = analysis.ownership.owner_name(topic_partition, now)
            yield topic_partition, LagMinute(now // MINUTE_MS * MINUTE_MS, lag, behind_ms, owner)


def _share_lag_minutes(group: GroupInput, share: ShareHistory) -> Iterator[tuple[TopicPartition, LagMinute]]:
    for topic_partition, samples in share.lags.items():
        last = {ms // MINUTE_MS: n for n, ms in enumerate(samples.ms)}
        ends = group.ends.get(topic_partition)
        for minute, n in last.items():
            # An earlier sample of the log end does not include records appended since.
            behind_ms = (time_lag_ms(ends, samples.start[n], samples.ms[n]) or None) if ends is not None else None
            lag = samples.lag[n]
            yield topic_partition, LagMinute(minute * MINUTE_MS, lag, behind_ms if lag else 0, None)


def throughput(commits: CommitHistory) -> list[ThroughputStep]:
    """Return the offsets that the group's commits advanced per time step, without empty steps.

    The step covers 19 of 20 pauses between the group's commits, so that the commit interval doesn't look like a
    standstill, and limits the result to MOST_STEPS steps.
    """
    partitions = commits.partitions.values()
    moments = distinct([p.moved_ms for p in partitions])
    if not len(moments):
        return []
    pauses = np.diff(moments)
    usual = float(np.percentile(pauses, 95)) if len(pauses) else 0.0
    least = max(usual, int(moments[-1] - moments[0]) / MOST_STEPS)
    step = next((step_ms for step_ms in STEPS_MS if step_ms >= least), STEPS_MS[-1] * int(-(-least // STEPS_MS[-1])))
    first = int(moments[0]) // step
    totals = np.zeros(int(moments[-1]) // step - first + 1, np.int64)
    for partition in partitions:
        np.add.at(totals, partition.moved_ms // step - first, partition.advances)
    return [ThroughputStep((first + n) * step, step, total) for n, total in enumerate(totals.tolist()) if total]
