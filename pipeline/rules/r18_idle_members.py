"""R18: the group has more members than partitions."""

from __future__ import annotations

from collections.abc import Iterator

from kohort.pipeline.history.group_analysis import GroupAnalysis
from kohort.pipeline.rules.finding import CERTAIN, WARNING, Finding, several

ID = "R18"
SHARE_OF_TIME = 0.8


def find(analysis: GroupAnalysis) -> Iterator[Finding]:
    both = zip(analysis.generations, analysis.skews, strict=True)
    skews = [skew for generation, skew in both if generation.size and skew is not None]
    lasted = sum(skew.lasted_s for skew in skews)
    idle = [skew for skew in skews if skew.idle_members and skew.members > skew.mean_parts * skew.members]
    if not idle or sum(skew.lasted_s for skew in idle) < SHARE_OF_TIME * lasted:
        return
    longest = max(idle, key=lambda skew: skew.lasted_s)
    partitions = longest.partitions
    start = min(g.stable_ms for g in analysis.generations if g.size)
    yield Finding(
        ID,
        "More members than partitions",
        WARNING,
        CERTAIN,
        f"{longest.members} members for {several(partitions, 'partition')}: {longest.idle_members} had no partitions",
        "Run fewer members, or give the topic more partitions. Additional members are only on standby.",
        start,
        analysis.span_ms[1],
        [],
        {"members": longest.members, "partitions": partitions, "idle": longest.idle_members, "seconds": lasted},
    )
