"""Lag of a share group: records that are not processed, as reported by its coordinator or computed from two logs.

The coordinator counts the records after the start offset, minus those that are already processed there. If it was not
queried, the same follows from the share coordinator's log and from samples of log ends.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field

import numpy as np

from kohort.pipeline.history.inputs import GroupInput, LogEnds, TopicPartition
from kohort.pipeline.history.written_states import PartitionStates


@dataclass(slots=True)
class ShareLag:
    """Samples of one partition by time. `start` is the first offset that is not processed."""

    ms: list[int] = field(default_factory=list)
    lag: list[int] = field(default_factory=list)
    start: list[int] = field(default_factory=list)


def share_lags(group: GroupInput, states: dict[TopicPartition, PartitionStates]) -> dict[TopicPartition, ShareLag]:
    by_partition: dict[TopicPartition, ShareLag] = {}
    reported: dict[TopicPartition, dict[int, tuple[int, int]]] = defaultdict(dict)
    for sample in group.share_lags:
        if sample.lag is not None and sample.start_offset is not None:
            reported[sample.topic, sample.part][sample.sampled_ms] = sample.lag, sample.start_offset
    for topic_partition in sorted(reported.keys() | states.keys()):
        samples = reported.get(topic_partition, {})
        if topic_partition in states and topic_partition in group.ends:
            samples = _worked_out(states[topic_partition], group.ends[topic_partition]) | samples
        if samples:
            moments = sorted(samples)
            lags, starts = zip(*(samples[ms] for ms in moments), strict=True)
            by_partition[topic_partition] = ShareLag(moments, list(lags), list(starts))
    return by_partition


def _worked_out(states: PartitionStates, ends: LogEnds) -> dict[int, tuple[int, int]]:
    """Compute lag and start offset at samples of the log end, by time.

    Records before Kafka 4.2 don't contain the number of processed records after the start offset; those are left out.
    """
    times = np.array([point.ms for point in states.points], np.int64)
    lags = {}
    for sampled_ms, log_start, log_end in zip(
        ends.sampled_ms.tolist(), ends.log_start.tolist(), ends.log_end.tolist(), strict=True
    ):
        at = int(np.searchsorted(times, sampled_ms, "right")) - 1
        if at < 0 or (complete := states.points[at].complete) is None:
            continue
        start = max(states.points[at].start_offset, log_start)
        lags[sampled_ms] = max(0, log_end - start - complete), start
    return lags


def total_lag(lags: dict[TopicPartition, ShareLag]) -> list[tuple[int, int]]:
    """Return (time, lag of all partitions), starting when every partition has a sample."""
    newest: dict[TopicPartition, int] = {}
    latest: dict[int, int] = {}
    samples = sorted(
        (ms, topic_partition, lag)
        for topic_partition, of in lags.items()
        for ms, lag in zip(of.ms, of.lag, strict=True)
    )
    for ms, topic_partition, lag in samples:
        newest[topic_partition] = lag
        if len(newest) == len(lags):
            latest[ms] = sum(newest.values())
    return sorted(latest.items())
