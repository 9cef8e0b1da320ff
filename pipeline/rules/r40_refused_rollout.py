"""R40: a rollout whose new members can't join the old ones: the group shrinks to nothing and starts again.

Members of one group need a common assignor. A new release without one is rejected (INCONSISTENT_GROUP_PROTOCOL), which
no log contains. What is visible: the old members leave one after the other, none joins until the last has left, and the
group starts again with another assignor.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from kohort.pipeline.history.group_analysis import GroupAnalysis, once
from kohort.pipeline.history.inputs import Generation
from kohort.pipeline.rules.finding import CERTAIN, CRITICAL, LIKELY, POSSIBLE, WARNING, Finding, listed, moment, seconds

ID = "R40"
STEPS = 2
SPREAD_MS = 5_000  # leaves closer together are a stop of the whole group
BACK_WITHIN_MS, SETTLED_MS = 120_000, 15_000


@dataclass(frozen=True, slots=True)
class Decline:
    """Last generation before members left one by one, the shrinking ones, and the first new one."""

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


@once
def declines(analysis: GroupAnalysis) -> list[Decline]:
    result = []
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
            result.append(Decline(full, tuple(shrinking), fresh))
    return result


def _looks_refused(full: Generation, fresh: Generation) -> bool:
    """Return whether the assignor changed or, with a text log only, whether the members did."""
    if full.protocol and fresh.protocol:
        return full.protocol != fresh.protocol
    return not {m.identity for m in full.members.values()} & {m.identity for m in fresh.members.values()}


def _finding(analysis: GroupAnalysis, decline: Decline) -> Finding:
    full, fresh = decline.full, decline.fresh
    sizes = " -> ".join(str(step.size) for step in (full, *decline.shrinking))
    soon = [g for g in analysis.generations if fresh.stable_ms <= g.stable_ms <= fresh.stable_ms + SETTLED_MS]
    clients = sorted({member.name for generation in soon for member in generation.members.values()})
    took_ms = decline.end_ms - decline.start_ms
    has_protocols = bool(full.protocol and fresh.protocol)
    reason = "no source shows whether they had been rejected (no common assignor) or were started late"
    if has_protocols:
        reason = f"the old members used {full.protocol}, the new ones {fresh.protocol}: without a common assignor the "
        reason += "coordinator rejects new members (INCONSISTENT_GROUP_PROTOCOL)"
    return Finding(
        ID,
        "New members were rejected until the last old one had left"
        if has_protocols
        else "The group shrank to nothing in a deploy",
        CRITICAL if has_protocols else WARNING,
        CERTAIN if has_protocols else LIKELY,
        f"from {moment(decline.start_ms)} UTC on, within {seconds(took_ms)}, the group shrank ({sizes} members) and no member "
        f"joined in their place; when it was empty it started again with {listed(clients)}; {reason}",
        "Give the new release both assignors, the old one and the new one (partition.assignment.strategy), roll that out, and "
        "remove the old one in a second rollout. Check the new pods' logs for INCONSISTENT_GROUP_PROTOCOL.",
        decline.start_ms,
        decline.end_ms,
        clients,
        {
            "sizes": [step.size for step in (full, *decline.shrinking)],
            "lasted_ms": took_ms,
            "protocols": [full.protocol or "", fresh.protocol or ""],
        },
        cause_confidence=LIKELY if has_protocols else POSSIBLE,
    )
