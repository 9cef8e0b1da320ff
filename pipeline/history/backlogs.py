"""Members whose partitions pile up records while those of the others don't: whether more comes, or they are slower."""

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
TIMES_THE_INFLOW = 3
"""A partition that gets so many times what is usual is hot."""


@dataclass(frozen=True, slots=True)
class Backlog:
    """places: of the member, with the most lag that each had. of: how many partitions it owned.

    hot: the one that gets far more records than is usual in the group; None if none does. inflow, usual_inflow: records
    a second that came in its partitions, and in those of the others. rate: that it got through, in each partition.
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
        """The partition with the most lag, and how much that was."""
        return max(self.places.items(), key=lambda each: each[1])


@dataclass(slots=True)
class _Stretch:
    """A partition under one owner: the most lag, when there was much of it, and records a second in and through."""

    lag: int
    start_ms: int
    end_ms: int
    inflow: float
    rate: float


def backlogs(analysis: GroupAnalysis) -> list[Backlog]:
    """At most one of each member, in the generation in which it was worst."""
    worst: dict[str, Backlog] = {}
    for generation in analysis.generations:
        if len(generation.members) < 2 or len(set(generation.owners.values())) < 2:
            continue
        for found in _in_generation(analysis, generation):
            known = worst.get(found.client)
            if known is None or found.worst[1] > known.worst[1]:
                worst[found.client] = found
    return sorted(worst.values(), key=lambda each: each.start_ms)


def _in_generation(analysis: GroupAnalysis, generation: Generation) -> list[Backlog]:
    end_ms = generation.end_ms or analysis.group.until_ms
    if end_ms - generation.stable_ms < LASTED_MS:
        return []
    seen = {
        place: stretch
        for place in generation.owners
        if (stretch := _stretch(analysis, place, generation.stable_ms, end_ms)) is not None
    }
    if len(seen) < 2:
        return []
    result, shares = [], generation.shares()
    for member_id, member in generation.members.items():
        mine = sorted(shares[member_id] & seen.keys())
        others = [seen[place] for place in seen if place not in mine and generation.owners[place] in generation.members]
        late = {place: seen[place].lag for place in mine if seen[place].end_ms - seen[place].start_ms >= LASTED_MS}
        if not late or not others:
            continue
        others_lag = max(each.lag for each in others)
        if max(late.values()) < TIMES_THE_OTHERS * max(1, others_lag):
            continue
        inflow, rate = (statistics.fmean(getattr(seen[p], name) for p in late) for name in ("inflow", "rate"))
        usual = statistics.median(each.inflow for place, each in seen.items() if place not in late)
        hottest = max(late, key=lambda place: seen[place].inflow)
        hot = hottest if seen[hottest].inflow >= TIMES_THE_INFLOW * usual else None
        fed = sum(seen[place].inflow > 0 for place in mine)
        if hot is None and (len(late) < MOST_OF_THEM * fed or rate < LEAST_RATE * inflow):
            continue  # a partition that stands still, or a member that doesn't commit, is another matter
        result.append(
            Backlog(
                member.name,
                late,
                len(shares[member_id]),
                hot,
                seen[hottest].inflow,
                inflow,
                usual,
                rate,
                others_lag,
                min(seen[place].start_ms for place in late),
                max(seen[place].end_ms for place in late),
            )
        )
    return result


def _stretch(analysis: GroupAnalysis, place: TopicPartition, start_ms: int, end_ms: int) -> _Stretch | None:
    ends, commits = analysis.group.ends.get(place), analysis.group.commits.get(place)
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
