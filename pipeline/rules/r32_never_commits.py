"""R32: a member owns partitions for long and never commits, while the others do."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from kohort.pipeline.history.group_analysis import GroupAnalysis
from kohort.pipeline.history.inputs import TopicPartition
from kohort.pipeline.history.lag import log_grew
from kohort.pipeline.rules.finding import LIKELY, POSSIBLE, WARNING, Finding, listed, seconds

ID = "R32"
OWNED_MS = 60_000
COMMITS_OF_OTHERS = 10

Stretch = tuple[int, int, set[TopicPartition]]


def find(analysis: GroupAnalysis) -> Iterator[Finding]:
    for member_id, stretches in without_commits(analysis).items():
        start_ms, end_ms = stretches[0][0], stretches[-1][1]
        mine = set.union(*(places for *_, places in stretches))
        grew = [log_grew(analysis.group, place, start_ms, end_ms) for place in mine if place in analysis.group.ends]
        if grew and not any(grew):
            continue
        name = next(s.member.name for s in analysis.sessions if s.member.member_id == member_id)
        owned_ms = sum(end - start for start, end, _ in stretches)
        topics = listed(sorted({topic for topic, _ in mine}))
        yield Finding(
            ID,
            "A member never commits",
            WARNING,
            LIKELY if any(grew) else POSSIBLE,
            f"{name} owned partitions of {topics} for {seconds(owned_ms)} and committed nothing, while the others committed"
            + ("; records arrived in that time" if any(grew) else ""),
            "Check whether this process has enable.auto.commit=false and never commits, or whether it is stuck: after a "
            "restart its partitions are processed again from the last commit of an earlier owner. If it only observes, give it "
            "its own group id: here it takes partitions from working members.",
            start_ms,
            end_ms,
            [name],
            {
                "members": [member_id],
                "partitions": len(mine),
                "lasted_ms": owned_ms,
                "topics": sorted({t for t, _ in mine}),
            },
        )


def without_commits(analysis: GroupAnalysis) -> dict[str, list[Stretch]]:
    """Return the members without any commit for their partitions, with the periods in which they owned them."""
    owned: dict[str, list[Stretch]] = {}
    for generation in analysis.generations:
        end_ms = generation.end_ms or analysis.group.until_ms
        shares = generation.shares()
        for member_id in generation.members:
            if mine := shares[member_id]:
                owned.setdefault(member_id, []).append((generation.stable_ms, end_ms, mine))
    return {member_id: stretches for member_id, stretches in owned.items() if _never(analysis, stretches)}


def _never(analysis: GroupAnalysis, stretches: list[Stretch]) -> bool:
    if sum(end - start for start, end, _ in stretches) < OWNED_MS:
        return False
    other_commits = 0
    for start, end, mine in stretches:
        if _commits(analysis, mine, start, end):
            return False
        other_commits += _commits(analysis, analysis.commits.partitions.keys() - mine, start, end)
    return other_commits >= COMMITS_OF_OTHERS


def _commits(analysis: GroupAnalysis, places: set[TopicPartition], start_ms: int, end_ms: int) -> int:
    count = 0
    for place in places & analysis.commits.partitions.keys():
        low, high = np.searchsorted(analysis.commits.partitions[place].sorted_ms, (start_ms, end_ms))
        count += int(high - low)
    return count
