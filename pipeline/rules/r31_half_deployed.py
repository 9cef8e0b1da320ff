"""R31: some members subscribe to topics that the others don't have: a deploy that stopped half-way."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from kohort.pipeline.history.group_analysis import GroupAnalysis
from kohort.pipeline.history.inputs import Generation
from kohort.pipeline.rules.finding import CERTAIN, WARNING, Finding, listed, seconds

ID = "R31"
LASTED_MS = 60_000  # a shorter period is part of a rolling deploy


def find(analysis: GroupAnalysis) -> Iterator[Finding]:
    stretches = [list(s) for differ, s in itertools.groupby(analysis.generations, _differ) if differ]
    longest = max(stretches, key=lambda s: _end_ms(analysis, s[-1]) - s[0].stable_ms, default=None)
    if longest is None:
        return
    start_ms, end_ms = longest[0].stable_ms, _end_ms(analysis, longest[-1])
    if end_ms - start_ms < LASTED_MS:
        return
    generation = max(longest, key=lambda one: one.size)
    readers: dict[str, list[str]] = {}
    for member in generation.members.values():
        for topic in member.topics or ():
            readers.setdefault(topic, []).append(member.name)
    some = {topic: sorted(names) for topic, names in readers.items() if len(names) < len(generation.members)}
    clients = sorted({name for names in some.values() for name in names})
    yield Finding(
        ID,
        "Members subscribe to different topics",
        WARNING,
        CERTAIN,
        f"for {seconds(end_ms - start_ms)} only {listed(clients)} of {len(generation.members)} members subscribed to "
        f"{listed(sorted(some))}: the others are assigned none of its partitions",
        "Finish the deploy, or roll it back: all members of a group should subscribe to the same topics. If this is intended, "
        "use a group id for each subscription.",
        start_ms,
        end_ms,
        clients,
        {"topics": sorted(some), "clients": clients, "lasted_ms": end_ms - start_ms, "of": len(generation.members)},
    )


def _end_ms(analysis: GroupAnalysis, generation: Generation) -> int:
    return generation.end_ms or analysis.group.until_ms


def _differ(generation: Generation) -> bool:
    """Return whether subscriptions differ but overlap; disjoint ones are two applications (R09)."""
    sets = {frozenset(member.topics) for member in generation.members.values() if member.topics}
    return len(sets) > 1 and all(a & b for a in sets for b in sets)
