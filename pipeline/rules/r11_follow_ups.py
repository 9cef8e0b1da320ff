"""R11: second rounds of a cooperative assignor, which are normal."""

from __future__ import annotations

from collections.abc import Iterator

from kohort.pipeline.history.group_analysis import GroupAnalysis
from kohort.pipeline.rules.finding import INFO, Finding, weakest

ID = "R11"
SHARE = 0.4


def find(analysis: GroupAnalysis) -> Iterator[Finding]:
    completed = [r for r in analysis.rebalances if r.outcome == "completed" and not r.is_epoch and r.kind != "initial"]
    follow_ups = [r for r in completed if r.kind == "followup"]
    if len(follow_ups) < 2 or len(follow_ups) < SHARE * len(completed):
        return
    yield Finding(
        ID,
        "Follow-up rebalances, which are normal",
        INFO,
        weakest(r.why.confidence for r in follow_ups),
        f"{len(follow_ups)} of {len(completed)} rebalances are second rounds of the cooperative assignor, in which revoked "
        "partitions are assigned to their new owner",
        "Count them separately: they stop no member.",
        follow_ups[0].begin_ms,
        follow_ups[-1].stable_ms,
        [],
        {"follow_ups": len(follow_ups), "completed": len(completed), "rebalances": [r.number for r in follow_ups]},
    )
