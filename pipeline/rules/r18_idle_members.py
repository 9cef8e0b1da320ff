"""R18: more members than partitions."""

from __future__ import annotations

from collections.abc import Iterator

from kohort.pipeline.gold.rows import skew_of
from kohort.pipeline.history.group_analysis import GroupAnalysis
from kohort.pipeline.rules.finding import CERTAIN, WARNING, Finding, several

ID = "R18"
SHARE_OF_TIME = 0.8


def find(analysis: GroupAnalysis) -> Iterator[Finding]:
    rows = [row for g in analysis.generations if g.size and (row := skew_of(analysis, g)) is not None]
    lasted = sum(row["lasted_s"] for row in rows)
    idle = [row for row in rows if row["idle_members"] and row["members"] > row["mean_parts"] * row["members"]]
    if not idle or sum(row["lasted_s"] for row in idle) < SHARE_OF_TIME * lasted:
        return
    longest = max(idle, key=lambda row: row["lasted_s"])
    partitions = round(longest["mean_parts"] * longest["members"])
    start = min(g.stable_ms for g in analysis.generations if g.size)
    yield Finding(
        ID,
        "More members than partitions",
        WARNING,
        CERTAIN,
        f"{longest['members']} members for {several(partitions, 'partition')}: {longest['idle_members']} had nothing to do",
        "Run fewer members, or give the topic more partitions; spare members only help as stand-by.",
        start,
        analysis.span_ms[1],
        [],
        {"members": longest["members"], "partitions": partitions, "idle": longest["idle_members"], "seconds": lasted},
    )
