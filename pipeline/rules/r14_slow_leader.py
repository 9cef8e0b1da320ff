"""R14: the leader takes long to compute the assignment."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from kohort.pipeline.history.group_analysis import GroupAnalysis
from kohort.pipeline.history.rebalance import Rebalance
from kohort.pipeline.rules.finding import LIKELY, WARNING, Finding, seconds

ID = "R14"
SLOW_MS = 2000
SAME_LEADER = 0.8
AT_LEAST = 3


def find(analysis: GroupAnalysis) -> Iterator[Finding]:
    rounds = [r for r in analysis.rebalances if r.outcome == "completed" and not r.is_epoch and r.after.size]
    if len(rounds) < AT_LEAST:
        return
    lengths = sorted(r.stable_ms - r.barrier_ms for r in rounds)
    p95 = lengths[-(-len(lengths) * 95 // 100) - 1]
    slow = [r for r in rounds if r.stable_ms - r.barrier_ms >= SLOW_MS]
    leaders = Counter(_leader(r) for r in slow)
    if p95 < SLOW_MS or not leaders or leaders.most_common(1)[0][1] < SAME_LEADER * len(slow):
        return
    leader = leaders.most_common(1)[0][0]
    yield Finding(
        ID,
        "The leader is slow to assign",
        WARNING,
        LIKELY,
        f"the leader took {seconds(p95)} to send the assignment after the join barrier (95th percentile of {len(rounds)} "
        f"rebalances); {leader} was the leader in {leaders[leader]} of {len(slow)} slow ones",
        "With an assignor of your own or a very large group, look at that client's CPU. The new protocol computes "
        "assignments on the broker.",
        slow[0].begin_ms,
        slow[-1].stable_ms,
        [leader],
        {"p95_complete_ms": p95, "slow": len(slow), "rebalances": [r.number for r in slow]},
    )


def _leader(r: Rebalance) -> str:
    member = r.after.members.get(r.after.leader or "")
    return member.name if member else (r.after.leader or "unknown")
