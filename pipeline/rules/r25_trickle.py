"""R25: members arrive one after another, and each arrival causes a rebalance or interrupts one."""

from __future__ import annotations

from collections.abc import Iterator

from kohort.pipeline.history.group_analysis import GroupAnalysis
from kohort.pipeline.history.rebalance import Rebalance
from kohort.pipeline.history.storms import in_ramp_up, in_shut_down, in_start, start_before
from kohort.pipeline.rules.finding import CERTAIN, INFO, WARNING, Finding, busiest, seconds, several, times

ID = "R25"
LOST_AN_HOUR = 2
JOINS_IN_A_ROW = 3


def find(analysis: GroupAnalysis) -> Iterator[Finding]:
    lost = [
        r
        for r in analysis.rebalances
        if r.lost and not r.is_epoch and r.after.size and not _converted(analysis, r) and not _is_expected(analysis, r)
    ]
    moments = [r.begin_ms for r in lost for _ in range(r.lost or 0)]
    if busiest(moments, 3_600_000) >= LOST_AN_HOUR:
        yield Finding(
            ID,
            "Rebalances interrupted by the next one",
            WARNING,
            CERTAIN,
            f"{several(len(moments), 'generation')} never received an assignment: the next rebalance began first",
            "Start members together, raise group.initial.rebalance.delay.ms, and look for a client in a crash loop.",
            lost[0].begin_ms,
            lost[-1].stable_ms,
            [],
            {"lost_generations": len(moments), "rebalances": [r.number for r in lost]},
        )
    ramp = [
        r
        for r in analysis.rebalances
        if not r.is_epoch and r.kind == "normal" and in_ramp_up(r, analysis.rebalances) and _began_before(analysis, r)
    ]
    if len(ramp) >= JOINS_IN_A_ROW:
        yield Finding(
            ID,
            "Members join one after another at the start",
            INFO,
            CERTAIN,
            f"at its start the group rebalanced {times(len(ramp) + 1)} instead of once, because its members joined one after "
            f"another within {seconds(ramp[-1].stable_ms - ramp[0].begin_ms)}",
            "Ignore this if it is rare. Start members together, or raise group.initial.rebalance.delay.ms to the length of "
            "the start.",
            ramp[0].begin_ms,
            ramp[-1].stable_ms,
            [],
            {"rebalances_at_start": len(ramp) + 1, "rebalances": [r.number for r in ramp]},
        )


def _began_before(analysis: GroupAnalysis, r: Rebalance) -> bool:
    """Return whether the start of the group is in the data, not only the start of the data."""
    start = start_before(r, analysis.rebalances)
    return start is not None and analysis.rebalances[start].lost is not None


def _is_expected(analysis: GroupAnalysis, r: Rebalance) -> bool:
    """Return whether members come together at the start of the group, or leave together at its end."""
    return in_start(r, analysis.rebalances) or in_shut_down(r, analysis.rebalances)


def _converted(analysis: GroupAnalysis, r: Rebalance) -> bool:
    """Return whether the group was a consumer group in between, because its epochs continued."""
    return any(r.before.stable_ms < ts <= r.stable_ms for ts, _ in analysis.timeline.conversions)
