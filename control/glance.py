"""All groups at one look: which ones are in trouble, whom they wait for and since when, and their last rebalances."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from kohort.control.groups_by_id import group_of
from kohort.control.history import OPEN
from kohort.coordinator.classic.states import State
from kohort.coordinator.consumer.consumer_states import GroupState
from kohort.coordinator.streams.streams_states import StreamsGroupState

if TYPE_CHECKING:
    from kohort.control.any_group import AnyGroup
    from kohort.control.explanation import Wait
    from kohort.control.history import Rebalance
    from kohort.control.laboratory import Laboratory

WINDOW_MS = 600_000
"""How far back it looks."""

MOST_GROUPS = 30

_MOVING = {
    each.value
    for each in (
        State.PREPARING_REBALANCE,
        State.COMPLETING_REBALANCE,
        GroupState.ASSIGNING,
        GroupState.RECONCILING,
        StreamsGroupState.NOT_READY,
    )
}


@dataclass(frozen=True)
class Mark:
    """A rebalance on the axis of time."""

    began_ms_ago: int
    took_ms: float | None
    """None: it is not over."""
    cause: str
    laggard: str


@dataclass(frozen=True)
class Glance:
    """A group that something has happened to lately."""

    group: AnyGroup
    waits: list[Wait]
    since_ms: int | None
    """For how long its rebalance has been going on; None: it is in none."""
    marks: list[Mark]
    """The newest last."""

    @property
    def trouble(self) -> tuple[int, float, int]:
        """The more, the worse: how long it has been waiting, how long it waited, how often."""
        return self.since_ms or 0, sum(each.took_ms or 0 for each in self.marks), len(self.marks)


def glance(laboratory: Laboratory) -> list[Glance]:
    """The groups of the last ten minutes by the brokers' clock, at most `MOST_GROUPS`, the most troubled first."""
    now_us = laboratory.clock.now_us()
    recent = laboratory.recorder.groups_lately(now_us - WINDOW_MS * 1_000, MOST_GROUPS)
    looked_at = [_at(laboratory, group_id, now_us) for group_id in recent]
    return sorted((each for each in looked_at if each.marks or each.waits), key=lambda each: each.trouble, reverse=True)


def _at(laboratory: Laboratory, group_id: str, now_us: int) -> Glance:
    group = group_of(laboratory, group_id)
    rebalances = [each for each in group.history if _ago_ms(each, now_us) <= WINDOW_MS]
    is_moving = group.state in _MOVING
    open_ones = [each for each in rebalances if each.outcome == OPEN]
    return Glance(
        group,
        list(group.explain().waits) if is_moving else [],
        _ago_ms(open_ones[-1], now_us) if is_moving and open_ones else None,
        [Mark(_ago_ms(each, now_us), _took_ms(each), each.cause, each.laggard) for each in rebalances],
    )


def _ago_ms(rebalance: Rebalance, now_us: int) -> int:
    return (now_us - rebalance.events[0].mono_us) // 1_000


def _took_ms(rebalance: Rebalance) -> float | None:
    return None if rebalance.outcome == OPEN else (rebalance.prepare_ms or 0) + (rebalance.complete_ms or 0)
