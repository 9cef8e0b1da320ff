"""R40: a rollout whose new members can't join while old ones are there: the group shrinks to nothing and begins anew.

Members of one group need an assignor in common. A new release that has none is refused (INCONSISTENT_GROUP_PROTOCOL),
which no log tells. What is seen: the old ones leave one after the other, nobody joins until the last has gone, and the
group begins again with another assignor.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from kohort.pipeline.history.group_analysis import GroupAnalysis
from kohort.pipeline.history.inputs import Generation
from kohort.pipeline.rules.finding import CERTAIN, CRITICAL, LIKELY, POSSIBLE, WARNING, Finding, listed, moment, seconds

ID = "R40"
STEPS = 2
SPREAD_MS = 5_000
"""Leaves that are closer together are a stop of all at once."""
BACK_WITHIN_MS, SETTLED_MS = 120_000, 15_000


@dataclass(frozen=True, slots=True)
class Decline:
    """The last generation before members left one by one, those in which fewer were left, and the first new one."""

    full: Generation
    shrinking: tuple[Generation, ...]
    fresh: Generation

    @property
    def start_ms(self) -> int:
        return self.shrinking[0].stable_ms

    @property
    def end_ms(self) -> int:
        return self.fresh.stable_ms


def find(analysis: GroupAnalysis) -> Iterator[Finding]:
    for decline in declines(analysis):
        yield _finding(analysis, decline)


def declines(analysis: GroupAnalysis) -> list[Decline]:
    """By time."""
    found = []
    classic = [generation for generation in analysis.generations if generation.kind == "classic"]
    for at, fresh in enumerate(classic):
        if at < STEPS + 1 or not fresh.size or classic[at - 1].size:
            continue
        start = at - 1
        while start and set(classic[start].members) < set(classic[start - 1].members):
            start -= 1
        shrinking = classic[start + 1 : at]
        full = classic[start]
        if (
            len(shrinking) >= STEPS
            and _looks_refused(full, fresh)
            and shrinking[-1].stable_ms - shrinking[0].stable_ms >= SPREAD_MS
            and fresh.stable_ms - shrinking[-1].stable_ms <= BACK_WITHIN_MS
            and not set(full.members) & set(fresh.members)
        ):
            found.append(Decline(full, tuple(shrinking), fresh))
    return found


def _looks_refused(full: Generation, fresh: Generation) -> bool:
    """Whether the assignor is another; where a text log alone is there, whether the members are other ones."""
    if full.protocol and fresh.protocol:
        return full.protocol != fresh.protocol
    return not {m.identity for m in full.members.values()} & {m.identity for m in fresh.members.values()}


def _finding(analysis: GroupAnalysis, decline: Decline) -> Finding:
    full, fresh = decline.full, decline.fresh
    sizes = " -> ".join(str(each.size) for each in (full, *decline.shrinking))
    soon = [g for g in analysis.generations if fresh.stable_ms <= g.stable_ms <= fresh.stable_ms + SETTLED_MS]
    clients = sorted({member.name for generation in soon for member in generation.members.values()})
    took_ms = decline.end_ms - decline.start_ms
    known = bool(full.protocol and fresh.protocol)
    why = "whether they had been refused (no assignor in common) or were started late, no source tells"
    if known:
        why = f"the old members used {full.protocol}, the new ones {fresh.protocol}: without an assignor in common the "
        why += "coordinator refuses whoever comes (INCONSISTENT_GROUP_PROTOCOL)"
    return Finding(
        ID,
        "New members were refused until the last old one had gone"
        if known
        else "The group shrank to nothing in a deploy",
        CRITICAL if known else WARNING,
        CERTAIN if known else LIKELY,
        f"from {moment(decline.start_ms)} UTC on, within {seconds(took_ms)}, the group shrank ({sizes} members) and nobody "
        f"took the place of those that left; when it was empty it began again with {listed(clients)}; {why}",
        "Give the new release both assignors, the old one and the new one (partition.assignment.strategy), roll that out, and "
        "take the old one away in a second rollout. Look at the new pods' logs for INCONSISTENT_GROUP_PROTOCOL.",
        decline.start_ms,
        decline.end_ms,
        clients,
        {
            "sizes": [each.size for each in (full, *decline.shrinking)],
            "lasted_ms": took_ms,
            "protocols": [full.protocol or "", fresh.protocol or ""],
        },
        cause_confidence=LIKELY if known else POSSIBLE,
    )
