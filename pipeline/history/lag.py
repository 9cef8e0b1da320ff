"""Lag from samples of log ends, and the status by Burrow's rules."""

from __future__ import annotations

import numpy as np

from kohort.pipeline.history.inputs import GroupInput, LogEnds, PartitionCommits, TopicPartition
from kohort.pipeline.records.offset_commits import Ints

BURROW_WINDOW = 10


def lag_at_samples(ends: LogEnds, commits: PartitionCommits) -> Ints:
    """Return max(0, log_end - max(committed, log_start)) for every sample; -1 before the first commit."""
    at = np.searchsorted(commits.ts_ms, ends.sampled_ms, "right") - 1
    committed = np.where(at >= 0, commits.committed[np.maximum(at, 0)], 0)
    lag = np.maximum(0, ends.log_end - np.maximum(committed, ends.log_start))
    return np.where(at >= 0, lag, -1)


def time_lag_ms(ends: LogEnds, committed: int, now_ms: int) -> int | None:
    """Return the time since the log end passed this offset, interpolated between samples; None before the samples."""
    at = int(np.searchsorted(ends.log_end, committed, "right"))
    if at >= len(ends.log_end):
        return 0
    if at == 0:
        return None
    low, high = int(ends.log_end[at - 1]), int(ends.log_end[at])
    t0, t1 = int(ends.sampled_ms[at - 1]), int(ends.sampled_ms[at])
    passed = t0 + (t1 - t0) * (committed - low) / (high - low) if high > low else t0
    return max(0, round(now_ms - passed))


def most_lag(group: GroupInput, topic_partition: TopicPartition, start_ms: int, end_ms: int) -> int | None:
    """Return the highest lag in a period, or None without samples in it or without a commit."""
    ends, commits = group.ends.get(topic_partition), group.commits.get(topic_partition)
    if ends is None or commits is None or not len(commits.ts_ms):
        return None
    inside = (ends.sampled_ms >= start_ms) & (ends.sampled_ms <= end_ms)
    lag = lag_at_samples(ends, commits)[inside]
    lag = lag[lag >= 0]
    return int(lag.max()) if len(lag) else None


def waited_ms(group: GroupInput, topic_partition: TopicPartition, start_ms: int, end_ms: int) -> int | None:
    """Return the minimum time that a record waited in a period without progress; 0 if no record waited.

    None without samples in it or without an earlier commit. A single sample between two commits shows no wait.
    """
    ends, commits = group.ends.get(topic_partition), group.commits.get(topic_partition)
    if ends is None or commits is None:
        return None
    last_index = int(np.searchsorted(commits.ts_ms, start_ms, "right")) - 1
    low, high = np.searchsorted(ends.sampled_ms, (start_ms, end_ms))
    if last_index < 0 or low == high:
        return None
    more = np.flatnonzero(ends.log_end[low:high] > max(int(commits.committed[last_index]), int(ends.log_start[low])))
    return end_ms - int(ends.sampled_ms[low + more[0]]) if len(more) else 0


def is_sampled(group: GroupInput, topic_partition: TopicPartition, start_ms: int, end_ms: int) -> bool:
    ends = group.ends.get(topic_partition)
    if ends is None:
        return False
    low, high = np.searchsorted(ends.sampled_ms, (start_ms, end_ms))
    return bool(low < high)


def log_grew(group: GroupInput, topic_partition: TopicPartition, start_ms: int, end_ms: int) -> int | None:
    """Return the number of records appended to a partition in a period, or None if samples don't cover it."""
    ends = group.ends.get(topic_partition)
    if ends is None:
        return None
    inside = ends.log_end[(ends.sampled_ms >= start_ms) & (ends.sampled_ms <= end_ms)]
    return int(inside[-1] - inside[0]) if len(inside) >= 2 else None


def burrow_status(
    times: Ints, offsets: Ints, lags: Ints | None, now_ms: int, *, lag_now: int | None = None, end_reached: bool = False
) -> str:
    """Return the status by Burrow's rules over the last ten commits of a partition, for comparison with Burrow.

    Args:
        lags: Lag at each commit, or None if unknown; then only stops and rewinds are detected.
        lag_now: Current lag; zero is always fine.
        end_reached: Whether a recent log end sample was not beyond the last commit.

    Source: Burrow's consumer evaluator.
    """
    times, offsets = times[-BURROW_WINDOW:], offsets[-BURROW_WINDOW:]
    if not len(times):
        return "NOTFOUND"
    if lag_now == 0:
        return "OK"
    if now_ms - times[-1] > times[-1] - times[0] and not end_reached:
        return "STOP"
    down = np.flatnonzero(np.diff(offsets) < 0)
    if len(down) and offsets[-1] < offsets[down[-1]]:
        return "REWIND"
    if lags is None:
        return "OK"
    lags = lags[-BURROW_WINDOW:]
    if (lags == 0).any():
        return "OK"
    if (offsets == offsets[0]).all():
        return "STALL"
    return "WARNING" if (np.diff(lags) >= 0).all() else "OK"
