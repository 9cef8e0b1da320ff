"""R24: the group changes between the classic and the new protocol."""

from __future__ import annotations

from collections.abc import Iterator

from kohort.pipeline.history.group_analysis import GroupAnalysis
from kohort.pipeline.rules.finding import CERTAIN, INFO, WARNING, Finding, busiest, times

ID = "R24"
FLAPPING_A_DAY = 2


def find(analysis: GroupAnalysis) -> Iterator[Finding]:
    moments = [r.begin_ms for r in analysis.rebalances if r.kind == "conversion"]
    if not moments:
        moments = [ts for ts, _ in analysis.timeline.conversions]
    if not moments:
        return
    flapping = busiest(moments, 86_400_000) >= FLAPPING_A_DAY
    yield Finding(
        ID,
        "Migration between the protocols" + (", back and forth" if flapping else ""),
        WARNING if flapping else INFO,
        CERTAIN,
        f"the group was converted between the classic and the new protocol {times(len(moments))}",
        "Finish the rollout and set group.protocol everywhere: the group converts back when its last member of the new "
        "protocol leaves."
        if flapping
        else "This is expected once, in a live migration by rolling restart.",
        min(moments),
        max(moments),
        [],
        {"conversions": len(moments), "moments_ms": moments},
    )
