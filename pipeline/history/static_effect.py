"""Effect of static membership by day: restarts without a rebalance, and partitions that waited."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from kohort.pipeline.history.days import days_between
from kohort.pipeline.history.group_analysis import GroupAnalysis
from kohort.pipeline.history.inputs import Swap

REBALANCES_OF_A_RESTART = 2  # a dynamic member that restarts leaves and joins


@dataclass(frozen=True, slots=True)
class StaticEffect:
    """Effect on one day.

    `unserved_partition_s` is between the last commit before a restart and the first one after it.
    """

    day: str
    members: int
    swaps: int
    unserved_partition_s: float
    fenced: int

    @property
    def rebalances_avoided(self) -> int:
        return REBALANCES_OF_A_RESTART * self.swaps


def static_effect(analysis: GroupAnalysis) -> Iterator[StaticEffect]:
    if not analysis.is_static():
        return
    returned = analysis.consumer.returned if analysis.consumer else []
    for day, start, end in days_between(*analysis.span_ms):
        swaps = [swap for swap in analysis.timeline.swaps if start <= swap.ts_ms < end]
        back = sum(start <= ts_ms < end for ts_ms, _, _ in returned)
        static = {
            member.instance_id
            for g in analysis.generations
            if g.stable_ms < end and (g.end_ms is None or g.end_ms >= start)
            for member in g.members.values()
            if member.instance_id
        }
        yield StaticEffect(
            day,
            len(static),
            len(swaps) + back,
            sum(_unserved_s(analysis, swap) for swap in swaps),
            sum(start <= event.ts < end for event in analysis.events.fenced),
        )


def _unserved_s(analysis: GroupAnalysis, swap: Swap) -> float:
    generation = analysis.ownership.generation_at(swap.ts_ms)
    mine = generation.parts_of(swap.new.member_id) if generation else set()
    last_ms = analysis.commits.last_of(mine, swap.ts_ms)
    after = analysis.commits.first_of(mine, swap.ts_ms + 1)
    return 0.0 if last_ms is None or after is None else (after - last_ms) / 1000 * len(mine)
