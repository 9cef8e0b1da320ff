"""R10: an eager assignor stops every member although few partitions have to move."""

from __future__ import annotations

from collections.abc import Iterator

from kohort.pipeline.history.group_analysis import GroupAnalysis
from kohort.pipeline.history.rebalance import Rebalance
from kohort.pipeline.rules.finding import INFO, LIKELY, WARNING, Finding, busiest, several, what_if

ID = "R10"
OFTEN_A_DAY = 3
STICKY_ENOUGH = 0.7
FEW_MOVES = 0.3


def find(analysis: GroupAnalysis) -> Iterator[Finding]:
    hits = [r for r in analysis.settled if r.kind == "normal" and r.eager and not r.is_epoch and r.movement is not None]
    if busiest([r.begin_ms for r in hits], 86_400_000) < OFTEN_A_DAY:
        return
    needless = [r for r in hits if _little_to_move(r)]
    if len(needless) < OFTEN_A_DAY:
        return
    cost = sum(r.cost.unavailable_partition_s[1] for r in needless)
    gain = sum(r.cost.unavailable_partition_s[1] * (1 - _share_that_must_move(r)) for r in needless)
    yield Finding(
        ID,
        "An eager assignor stops all members",
        WARNING if gain >= 600 else INFO,
        LIKELY,
        f"in {several(len(needless), 'rebalance')} every member revoked all its partitions, although few had to move; "
        f"about {gain:.0f} of {cost:.0f} partition-seconds without a consumer are those of partitions that could have stayed",
        "Compare the alternatives before you change the assignor. Cooperative members keep reading during one rebalance, but a "
        "rolling restart has three rebalances for each of them instead of two. "
        f"{what_if(analysis.group_id, 'partition.assignment.strategy=cooperative-sticky')} "
        "The change takes two rolling restarts: first with both assignors, then with the new one only.",
        needless[0].begin_ms,
        needless[-1].stable_ms,
        [],
        {
            "rebalances_counted": len(needless),
            "unavailable_partition_s_hi": round(cost, 3),
            "estimated_gain_partition_s": round(gain, 3),
            "rebalances": [r.number for r in needless],
        },
    )


def _share_that_must_move(r: Rebalance) -> float:
    m = r.movement
    assert m is not None
    must = m.moved - m.excess if m.excess is not None else m.orphans
    return must / m.common if m.common else 0.0


def _little_to_move(r: Rebalance) -> bool:
    m = r.movement
    assert m is not None
    return m.common > 0 and ((m.stickiness or 0) >= STICKY_ENOUGH or _share_that_must_move(r) <= FEW_MOVES)
