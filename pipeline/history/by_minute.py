"""Time series: commits and lag of each partition by minute, and the throughput of the whole group."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from kohort.pipeline.history.commit_history import CommitHistory, distinct
from kohort.pipeline.history.group_analysis import GroupAnalysis
from kohort.pipeline.history.inputs import GroupInput, TopicPartition
from kohort.pipeline.history.lag import lag_at_samples, time_lag_ms
from kohort.pipeline.history.share_history import ShareHistory
from kohort.pipeline.records.offset_commits import Ints

MINUTE_MS = 60_000
STEPS_MS = (1_000, 2_000, 5_000, 10_000, 15_000, 30_000, 60_000, 120_000, 300_000, 600_000, 1_800_000, 3_600_000)
MOST_STEPS = 900
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
    for topic_partition, partition in commits.partitions.items():
        times = partition.commits.ts_ms
        minutes, start = _first_of_each(times // MINUTE_MS)
        delta = np.concatenate(([0], partition.deltas))
        gap = np.concatenate(([0], partition.gaps))
        count = np.diff(np.append(start, len(times)))
        advanced = np.add.reduceat(np.maximum(delta, 0), start)
        longest = np.maximum.reduceat(gap, start)
        back = np.add.reduceat((delta < 0).astype(np.int64), start)
        columns = (column.tolist() for column in (minutes * MINUTE_MS, count, advanced, longest, back))
        for values in zip(*columns, strict=True):
            yield topic_partition, CommitMinute(*values)


def _first_of_each(values: Ints) -> tuple[Ints, Ints]:
    """Return the distinct values in order and the index of the first occurrence of each. Skips sorting sorted input."""
    changes = np.flatnonzero(values[1:] != values[:-1]) + 1
    start = np.concatenate((_ZERO, changes))
    distinct_values = values[start]
    if (distinct_values[1:] > distinct_values[:-1]).all():
        return distinct_values, start
    return np.unique(values, return_index=True)


def lag_minutes(analysis: GroupAnalysis) -> Iterator[tuple[TopicPartition, LagMinute]]:
    if analysis.share is not None:
        yield from _share_lag_minutes(analysis.group, analysis.share)
    for topic_partition, ends in analysis.group.ends.items():
        commits = analysis.group.commits.get(topic_partition)
        if commits is None or not len(commits.ts_ms) or not len(ends.sampled_ms):
            continue
        lag = lag_at_samples(ends, commits)
        minutes = ends.sampled_ms // MINUTE_MS
        last = np.append(np.flatnonzero(np.diff(minutes)), len(minutes) - 1)
        for n in last.tolist():
            if lag[n] < 0:
                continue
            now = int(ends.sampled_ms[n])
            at = int(np.searchsorted(commits.ts_ms, now, "right")) - 1
            yield (
                topic_partition,
                LagMinute(
                    int(minutes[n]) * MINUTE_MS,
                    int(lag[n]),
                    time_lag_ms(ends, int(commits.committed[at]), now) if lag[n] else 0,
                    analysis.ownership.owner_name(topic_partition, now),
                ),
            )


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
    partitions = [p for p in commits.partitions.values() if len(p.commits.ts_ms) > 1]
    if not partitions:
        return []
    moments = distinct([p.moved_ms for p in partitions])
    if not len(moments):
        return []
    pauses = np.diff(moments)
    usual = float(np.percentile(pauses, 95)) if len(pauses) else 0.0
    least = max(usual, int(moments[-1] - moments[0]) / MOST_STEPS)
    step = next((step_ms for step_ms in STEPS_MS if step_ms >= least), STEPS_MS[-1] * int(-(-least // STEPS_MS[-1])))
    totals: dict[int, int] = {}
    for partition in partitions:
        steps, step_of = np.unique(partition.commits.ts_ms[1:] // step, return_inverse=True)
        sums = np.bincount(step_of, weights=np.maximum(partition.deltas, 0)).astype(np.int64)
        for number, offsets in zip(steps.tolist(), sums.tolist(), strict=True):
            totals[number] = totals.get(number, 0) + offsets
    return [ThroughputStep(number * step, step, total) for number, total in sorted(totals.items()) if total]
