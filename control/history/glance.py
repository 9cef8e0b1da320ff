"""Overview of all groups: the ones in trouble, what they wait for and since when, and their last rebalances."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from kohort.control.groups.groups_by_id import group_of
from kohort.control.history.history import OPEN
from kohort.coordinator.classic.states import State
from kohort.coordinator.consumer.consumer_states import GroupState
from kohort.coordinator.streams.streams_states import StreamsGroupState

if TYPE_CHECKING:
    from kohort.control.groups.any_group import AnyGroup
    from kohort.control.history.history import Rebalance
    from kohort.control.laboratory import Laboratory
    from kohort.groups.explanation import Wait

WINDOW_MS = 600_000  # how far the overview looks back

MAX_GROUPS = 30

_MOVING = {
    state.value
    for state in (
        State.PREPARING_REBALANCE,
        State.COMPLETING_REBALANCE,
        GroupState.ASSIGNING,
        GroupState.RECONCILING,
        StreamsGroupState.NOT_READY,
    )
}


@dataclass(frozen=True)
class Mark:
    """Rebalance on the time axis."""

    began_ms_ago: int
    took_ms: float | None  # None if it has not ended
    cause: str
    laggard: str


@dataclass(frozen=True)
class Glance:
    """Group with recent events."""

    group: AnyGroup
    waits: list[Wait]
    since_ms: int | None  # duration of the current rebalance, or None without one
    marks: list[Mark]  # newest last

    @property
    def trouble(self) -> tuple[int, float, int]:
        """The sort key, larger if worse: the current wait, the sum of past waits, and their number."""
        return self.since_ms or 0, sum(mark.took_ms or 0 for mark in self.marks), len(self.marks)


def glance(laboratory: Laboratory) -> list[Glance]:
    """Return the groups of the last ten minutes of the brokers' clock, at most `MAX_GROUPS`, most troubled first."""
    now_us = laboratory.clock.now_us()
    recent = laboratory.recorder.groups_lately(now_us - WINDOW_MS * 1_000, MAX_GROUPS)
    looked_at = [_at(laboratory, group_id, now_us) for group_id in recent]
    return sorted((row for row in looked_at if row.marks or row.waits), key=lambda row: row.trouble, reverse=True)


def _at(laboratory: Laboratory, group_id: str, now_us: int) -> Glance:
    group = group_of(laboratory, group_id)
    rebalances = [rebalance for rebalance in group.history if _ago_ms(rebalance, now_us) <= WINDOW_MS]
    is_moving = group.state in _MOVING
    open_ones = [rebalance for rebalance in rebalances if rebalance.outcome == OPEN]
    return Glance(
        group,
        list(group.explain().waits) if is_moving else [],
        _ago_ms(open_ones[-1], now_us) if is_moving and open_ones else None,
        [
            Mark(_ago_ms(rebalance, now_us), _took_ms(rebalance), rebalance.cause, rebalance.laggard)
            for rebalance in rebalances
        ],
    )


def _ago_ms(rebalance: Rebalance, now_us: int) -> int:
    return (now_us - rebalance.events[0].mono_us) // 1_000


def _took_ms(rebalance: Rebalance) -> float | None:
    return None if rebalance.outcome == OPEN else (rebalance.prepare_ms or 0) + (rebalance.complete_ms or 0)
