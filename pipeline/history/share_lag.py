"""Lag of a share group: records that it isn't done with, by its coordinator's word, or worked out from two logs.

The coordinator counts what lies behind the start offset, less what is done with there. Where it was not asked, the same
follows from the share coordinator's log and from samples of log ends.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field

import numpy as np

from kohort.pipeline.history.inputs import GroupInput, LogEnds, TopicPartition
from kohort.pipeline.history.written_states import PartitionStates


@dataclass(slots=True)
class ShareLag:
    """Samples of one partition, by time. start: the first offset that is not done with."""

    ms: list[int] = field(default_factory=list)
    lag: list[int] = field(default_factory=list)
    start: list[int] = field(default_factory=list)


def share_lags(group: GroupInput, states: dict[TopicPartition, PartitionStates]) -> dict[TopicPartition, ShareLag]:
    """Where the lag is known, by partition."""
    found: dict[TopicPartition, ShareLag] = {}
    told: dict[TopicPartition, dict[int, tuple[int, int]]] = defaultdict(dict)
    for sample in group.share_lags:
        if sample.lag is not None and sample.start_offset is not None:
            told[sample.topic, sample.part][sample.sampled_ms] = sample.lag, sample.start_offset
    for place in sorted(told.keys() | states.keys()):
        samples = told.get(place, {})
        if place in states and place in group.ends:
            samples = _worked_out(states[place], group.ends[place]) | samples
        if samples:
            moments = sorted(samples)
            lags, starts = zip(*(samples[ms] for ms in moments), strict=True)
            found[place] = ShareLag(moments, list(lags), list(starts))
    return found


def _worked_out(states: PartitionStates, ends: LogEnds) -> dict[int, tuple[int, int]]:
    """Moment to lag and start offset, at samples of the log's end. Where records before 4.2 don't say how much is done
    with behind the start, nothing is known."""
    times = np.array([point.ms for point in states.points], np.int64)
    found = {}
    for sampled_ms, log_start, log_end in zip(
        ends.sampled_ms.tolist(), ends.log_start.tolist(), ends.log_end.tolist(), strict=True
    ):
        at = int(np.searchsorted(times, sampled_ms, "right")) - 1
        if at < 0 or (complete := states.points[at].complete) is None:
            continue
        start = max(states.points[at].start_offset, log_start)
        found[sampled_ms] = max(0, log_end - start - complete), start
    return found


def total_lag(lags: dict[TopicPartition, ShareLag]) -> list[tuple[int, int]]:
    """(moment, lag of all partitions), from the moment on at which each was sampled."""
    newest: dict[TopicPartition, int] = {}
    found: dict[int, int] = {}
    samples = sorted((ms, place, lag) for place, of in lags.items() for ms, lag in zip(of.ms, of.lag, strict=True))
    for ms, place, lag in samples:
        newest[place] = lag
        if len(newest) == len(lags):
            found[ms] = sum(newest.values())
    return sorted(found.items())
