"""R09: two applications use one group id."""

from __future__ import annotations

from collections.abc import Iterator

from kohort.pipeline.history.group_analysis import GroupAnalysis
from kohort.pipeline.history.inputs import Generation
from kohort.pipeline.rules.finding import CERTAIN, WARNING, Finding, listed

ID = "R09"
GENERATIONS = 2


def find(analysis: GroupAnalysis) -> Iterator[Finding]:
    clients_by_topics: dict[frozenset[str], set[str]] = {}
    mixed = []
    for generation in analysis.generations:
        sets = {frozenset(member.topics) for member in generation.members.values() if member.topics}
        if len(sets) < 2 or not any(not a & b for a in sets for b in sets):
            continue
        mixed.append(generation)
        for member in generation.members.values():
            if member.topics:
                clients_by_topics.setdefault(frozenset(member.topics), set()).add(member.name)
    if len(mixed) < GENERATIONS and not any(_lasted_ms(analysis, g) >= 60_000 for g in mixed):
        return
    groups = sorted((sorted(topics), sorted(clients)) for topics, clients in clients_by_topics.items())
    applications = "; ".join(f"{listed(clients, 3)} read {listed(topics, 3)}" for topics, clients in groups)
    yield Finding(
        ID,
        "Two applications share a group id",
        WARNING,
        CERTAIN,
        f"members of the group read different topics at the same time: {applications}. Every restart of one causes a rebalance of the other",
        "Give each application its own group.id.",
        mixed[0].stable_ms,
        mixed[-1].end_ms or analysis.group.until_ms,
        [client for _, clients in groups for client in clients],
        {
            "applications": [{"topics": topics, "clients": clients} for topics, clients in groups],
            "generations": [g.number for g in mixed],
        },
    )


def _lasted_ms(analysis: GroupAnalysis, generation: Generation) -> int:
    return (generation.end_ms or analysis.group.until_ms) - generation.stable_ms
