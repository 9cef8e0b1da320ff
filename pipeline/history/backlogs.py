"""Members whose partitions accumulate records while those of other members do not: more inflow, or a slow consumer."""

from __future__ import annotations

import statistics
from dataclasses import dataclass

import numpy as np

from kohort.pipeline.history.group_analysis import GroupAnalysis
from kohort.pipeline.history.inputs import Generation, TopicPartition
from kohort.pipeline.history.lag import lag_at_samples

MUCH_LAG, TIMES_THE_OTHERS = 100, 5
LASTED_MS = 30_000
MOST_OF_THEM, LEAST_RATE = 0.7, 0.1
TIMES_THE_INFLOW = 3  # ratio to the usual inflow from which a partition is hot


@dataclass(frozen=True, slots=True)
class Backlog:
    """Lag of one member whose partitions fall behind.

    Attributes:
        places: Partitions of the member that fell behind, with the highest lag of each.
        of: Number of partitions that the member owned.
        hot: Partition with a much higher inflow than usual in the group, or None.
        inflow: Records per second appended to the member's partitions.
        usual_inflow: Records per second appended to a partition of another member.
        rate: Records per second that the member consumed from each partition.
    """

    client: str
    places: dict[TopicPartition, int]
    of: int
    hot: TopicPartition | None
    hot_inflow: float
    inflow: float
    usual_inflow: float
    rate: float
    others_lag: int
    start_ms: int
    end_ms: int

    @property
    def worst(self) -> tuple[TopicPartition, int]:
        return max(self.places.items(), key=lambda item: item[1])


@dataclass(slots=True)
class _Stretch:
    """Highest lag of a partition under one owner, the time of high lag, and records per second in and out."""

    lag: int
    start_ms: int
    end_ms: int
    inflow: float
    rate: float


def backlogs(analysis: GroupAnalysis) -> list[Backlog]:
    """Return at most one backlog of each member, in the generation in which it was worst."""
    worst: dict[str, Backlog] = {}
    for generation in analysis.generations:
        if len(generation.members) < 2 or len(set(generation.owners.values())) < 2:
            continue
        for backlog in _in_generation(analysis, generation):
            previous = worst.get(backlog.client)
            if previous is None or backlog.worst[1] > previous.worst[1]:
                worst[backlog.client] = backlog
    return sorted(worst.values(), key=lambda backlog: backlog.start_ms)


def _in_generation(analysis: GroupAnalysis, generation: Generation) -> list[Backlog]:
    end_ms = generation.end_ms or analysis.group.until_ms
    if end_ms - generation.stable_ms < LASTED_MS:
        return []
    stretches = {
        tp: stretch
        for tp in generation.owners
        if (stretch := _stretch(analysis, tp, generation.stable_ms, end_ms)) is not None
    }
    if len(stretches) < 2:
        return []
    result, shares = [], generation.shares()
    for member_id, member in generation.members.items():
        mine = sorted(shares[member_id] & stretches.keys())
        rest = [stretches[tp] for tp in stretches if tp not in mine and generation.owners[tp] in generation.members]
        lagging = {tp: stretches[tp].lag for tp in mine if stretches[tp].end_ms - stretches[tp].start_ms >= LASTED_MS}
        if not lagging or not rest:
            continue
        others_lag = max(s.lag for s in rest)
        if max(lagging.values()) < TIMES_THE_OTHERS * max(1, others_lag):
            continue
        inflow, rate = (statistics.fmean(getattr(stretches[p], name) for p in lagging) for name in ("inflow", "rate"))
        usual = statistics.median(s.inflow for tp, s in stretches.items() if tp not in lagging)
        hottest = max(lagging, key=lambda tp: stretches[tp].inflow)
        hot = hottest if stretches[hottest].inflow >= TIMES_THE_INFLOW * usual else None
        fed = sum(stretches[tp].inflow > 0 for tp in mine)
        if hot is None and (len(lagging) < MOST_OF_THEM * fed or rate < LEAST_RATE * inflow):
            continue  # a partition that stands still, or a member that doesn't commit, is another matter
        result.append(
            Backlog(
                member.name,
                lagging,
                len(shares[member_id]),
                hot,
                stretches[hottest].inflow,
                inflow,
                usual,
                rate,
                others_lag,
                min(stretches[tp].start_ms for tp in lagging),
                max(stretches[tp].end_ms for tp in lagging),
            )
        )
    return result


def _stretch(analysis: GroupAnalysis, topic_partition: TopicPartition, start_ms: int, end_ms: int) -> _Stretch | None:
    ends, commits = analysis.group.ends.get(topic_partition), analysis.group.commits.get(topic_partition)
    if ends is None or commits is None or not len(commits.ts_ms):
        return None
    inside = np.flatnonzero((ends.sampled_ms >= start_ms) & (ends.sampled_ms <= end_ms))
    if len(inside) < 2:
        return None
    lag = lag_at_samples(ends, commits)[inside]
    if lag.max(initial=-1) < 0:
        return None
    high = inside[lag >= MUCH_LAG]
    seconds = max(0.001, int(ends.sampled_ms[inside[-1]] - ends.sampled_ms[inside[0]]) / 1000)
    low, until = np.searchsorted(commits.ts_ms, (start_ms, end_ms))
    through = int(commits.committed[until - 1] - commits.committed[low]) if until - low >= 2 else 0
    return _Stretch(
        int(lag.max()),
        int(ends.sampled_ms[high[0]]) if len(high) else 0,
        int(ends.sampled_ms[high[-1]]) if len(high) else 0,
        float(ends.log_end[inside[-1]] - ends.log_end[inside[0]]) / seconds,
        max(0, through) / seconds,
    )
