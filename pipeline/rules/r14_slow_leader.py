"""R14: the leader takes long to compute the assignment, or never sends it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from kohort.pipeline.history.group_analysis import GroupAnalysis
from kohort.pipeline.history.rebalance import Rebalance
from kohort.pipeline.rules.finding import (
    CERTAIN,
    CRITICAL,
    LIKELY,
    POSSIBLE,
    WARNING,
    Finding,
    listed,
    seconds,
    times,
    what_if,
)
from kohort.pipeline.sources.source_rows import GroupEvent

ID = "R14"
SLOW_MS = 2000
SAME_LEADER = 0.8
AT_LEAST = 3
_FOR_SILENCE = ("session_expired", "sync_timeout")


def find(analysis: GroupAnalysis) -> Iterator[Finding]:
    yield from _never_sent(analysis)
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
        "Check the CPU usage of that client, in particular with a custom assignor or a very large group. With "
        "group.protocol=consumer the broker computes assignments. "
        f"{what_if(analysis.group_id, 'group.protocol=consumer')}",
        slow[0].begin_ms,
        slow[-1].stable_ms,
        [leader],
        {"p95_complete_ms": p95, "slow": len(slow), "rebalances": [r.number for r in slow]},
    )


def _never_sent(analysis: GroupAnalysis) -> Iterator[Finding]:
    """Find generations that waited for the leader's assignment until members without SyncGroup were removed."""
    hits = list(_without_assignment(analysis))
    if not hits:
        return
    names = {session.member.member_id: session.member.name for session in analysis.sessions}
    late_clients = list(
        dict.fromkeys(names.get(m) or analysis.events.names.get(m, m) for hit in hits for m in hit.members)
    )
    longest = max(hit.removed_ms - hit.joined_ms for hit in hits)
    yield Finding(
        ID,
        "The leader never sent the assignment",
        CRITICAL,
        CERTAIN if all(len(hit.members) == 1 for hit in hits) else LIKELY,
        f"{listed(late_clients)} joined and then never sent SyncGroup, {times(len(hits))}: the members waited for the assignment of "
        f"generation {listed(str(hit.generation) for hit in hits)} for up to {seconds(longest)}, until the coordinator removed "
        f"{'it' if len(late_clients) == 1 else 'them'}; no member consumed in that time",
        f"Take a thread dump of {late_clients[0]} when it happens: its assignor hangs or is far too slow, or the process stopped between "
        "JoinGroup and SyncGroup. The new protocol computes assignments on the broker.",
        hits[0].joined_ms,
        hits[-1].removed_ms,
        late_clients,
        {
            "times": len(hits),
            "waits_ms": [hit.removed_ms - hit.joined_ms for hit in hits],
            "longest_ms": longest,
            "generations": [hit.generation for hit in hits],
        },
        cause_confidence=POSSIBLE,
    )


@dataclass(frozen=True, slots=True)
class _Unassigned:
    """Generation that completed its join barrier without an assignment, and the members removed for that."""

    generation: int
    joined_ms: int
    removed_ms: int
    members: tuple[str, ...]


def _without_assignment(analysis: GroupAnalysis) -> Iterator[_Unassigned]:
    assigned = _assigned(analysis)
    completed = [event for event in analysis.events.completed if event.generation is not None and event.members]
    ends = [event.ts for event in completed[1:]] + [analysis.group.until_ms]
    for event, until_ms in zip(completed, ends, strict=False):
        if assigned is None or event.generation is None or event.generation in assigned:
            continue
        removed = [r for r in analysis.events.removed_between(event.ts, until_ms) if r.cause in _FOR_SILENCE]
        first = min((r.ts_ms for r in removed), default=0)
        together = tuple(r.member_id for r in removed if r.ts_ms - first < 1_000)
        if together and first > event.ts and not _all_others_left(analysis, event, first, together):
            yield _Unassigned(event.generation, event.ts, first, together)


def _all_others_left(analysis: GroupAnalysis, completed: GroupEvent, removed_ms: int, removed: tuple[str, ...]) -> bool:
    """Return whether the other members left at once, so that no member waited for the assignment."""
    until_ms = completed.ts + SLOW_MS
    departed = {
        removal.member_id
        for removal in analysis.events.removed_between(completed.ts, until_ms)
        if completed.ts < removal.ts_ms < until_ms and removal.member_id not in removed
    }
    other_count = (completed.members or 0) - len(removed)
    arrived = any(completed.ts < ts < removed_ms for ts in analysis.events.arrived_ms.values())
    return 0 < other_count <= len(departed) and not arrived


def _assigned(analysis: GroupAnalysis) -> set[int] | None:
    """Return the generations that received an assignment, or None if no source contains assignments."""
    stored = {g.number for g in analysis.generations if not g.from_events}
    reported = {e.generation for e in analysis.group.events if e.kind in ("assignment_received", "assignment_stored")}
    if not stored and not reported:
        return None
    return stored | {generation for generation in reported if generation is not None}


def _leader(r: Rebalance) -> str:
    member = r.after.members.get(r.after.leader or "")
    return member.name if member else (r.after.leader or "unknown")
