"""R26: a storm of rebalances, with the rule that explains most of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from kohort.pipeline.history.group_analysis import GroupAnalysis
from kohort.pipeline.history.rebalance import Rebalance
from kohort.pipeline.history.rebalances import FOLLOW_UP_WITHIN_MS
from kohort.pipeline.history.storms import Storm
from kohort.pipeline.rules.finding import (
    CERTAIN,
    INFO,
    LIKELY,
    POSSIBLE,
    SEVERITIES,
    WARNING,
    Finding,
    seconds,
    several,
)

ID = "R26"
LEAST_SHARE_SAID = 0.01


def find(analysis: GroupAnalysis) -> Iterator[Finding]:
    for storm in analysis.storms:
        causes = Counter(r.why.cause for r in storm.rebalances)
        clients = Counter(r.why.trigger_client for r in storm.rebalances if r.why.trigger_client)
        cause = causes.most_common(1)[0][0]
        chain = " -> ".join(
            f"{r.why.cause}{f' ({r.why.trigger_client})' if r.why.trigger_client else ''}" for r in storm.rebalances[:6]
        )
        every = _with_follow_ups(analysis, storm)
        follow_ups = sum(r.kind == "followup" for r in every)
        alone = _only_client(storm)
        exact = all(r.start_ms is not None for r in storm.rebalances)
        yield Finding(
            ID,
            "Rebalance storm" if alone is None else "One member causes rebalance after rebalance",
            WARNING if storm.is_dense else INFO,
            CERTAIN if exact else LIKELY,
            f"{several(len(every), 'rebalance')}{f' ({follow_ups} of them follow-ups)' if follow_ups else ''} within "
            f"{seconds(storm.end_ms - storm.start_ms)}{_share(storm, exact)}; most often: {cause.replace('_', ' ')}"
            + (f"; {alone} causes each of them, and the other members stay" if alone else ""),
            f"Remove the most frequent cause. The causes of the first rebalances were: {chain}.",
            storm.start_ms,
            storm.end_ms,
            [name for name, _ in clients.most_common(3)],
            {
                "rebalances_counted": len(every),
                "time_rebalancing_s": storm.busy_ms / 1000,
                "share": round(storm.share, 4),
                "share_is": "exact" if exact else "at least",
                "causes": dict(causes),
                "explained_by": None,
                "rebalances": [r.number for r in storm.rebalances],
            },
        )


def _with_follow_ups(analysis: GroupAnalysis, storm: Storm) -> list[Rebalance]:
    """Return every rebalance of the time of a storm, and the second rounds of its last one."""
    start_ms, end_ms = storm.start_ms, storm.end_ms
    return [
        r
        for r in analysis.rebalances
        if r.reached_barrier and start_ms <= r.begin_ms <= end_ms + (FOLLOW_UP_WITHIN_MS if r.kind == "followup" else 0)
    ]


def _only_client(storm: Storm) -> str | None:
    """Return the client that caused all rebalances by leaving and rejoining, or None."""
    clients = {r.why.trigger_client for r in storm.rebalances}
    moved = {
        members[member_id].name
        for r in storm.rebalances
        for members, member_ids in ((r.after.members, r.joined), (r.before.members, (*r.left, *r.evicted)))
        for member_id in member_ids
        if member_id in members
    }
    return clients.pop() if len(clients) == 1 and moved == clients else None


def _share(storm: Storm, exact: bool) -> str:
    """Describe the fraction of time in rebalances; a lower bound without their starts, and nothing if it is tiny."""
    if not exact and storm.share < LEAST_SHARE_SAID:
        return ""
    return f", {'' if exact else 'at least '}{storm.share:.0%} of that time in rebalances"


def explain(storm: Finding, other_findings: list[Finding]) -> None:
    """Downgrade a storm if another finding covers at least half of its rebalances, and name that finding."""
    mine = set(storm.evidence["rebalances"])
    for other in sorted(other_findings, key=lambda finding: -SEVERITIES.index(finding.severity)):
        if other.rule in ("R26", "R10", "R11"):
            continue
        covered = len(mine & set(other.evidence.get("rebalances", ())))
        moments = sum(storm.start_ms - 1000 <= ms <= storm.end_ms for ms in other.evidence.get("moments_ms", ()))
        if "left_ms" in other.evidence and other.confidence != POSSIBLE:  # each poll timeout costs a leave and a return
            moments = 2 * sum(storm.start_ms - 1000 <= ms <= storm.end_ms for ms in other.evidence["left_ms"])
        if max(covered, moments) >= 0.5 * len(mine):
            storm.evidence["explained_by"] = other.rule
            storm.is_explained_by(other)
            return
