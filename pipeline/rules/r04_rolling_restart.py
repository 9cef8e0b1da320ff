"""R04: a rolling deploy with dynamic members: each restart is a leave and a join."""

from __future__ import annotations

from collections.abc import Iterator

from kohort.pipeline.history.group_analysis import GroupAnalysis
from kohort.pipeline.history.member_sessions import Session
from kohort.pipeline.rules.finding import CERTAIN, INFO, LIKELY, WARNING, Finding, listed, several

ID = "R04"
WINDOW_MS = 15 * 60_000
SHARE_OF_CLIENTS = 0.6
RESTART_WITHIN_MS = 5 * 60_000


def restarts(analysis: GroupAnalysis) -> list[tuple[Session, Session]]:
    """(old life, new life) of dynamic clients that closed in an orderly way and came back."""
    found = []
    for session in analysis.sessions:
        old = session.predecessor
        if old is None or session.member.instance_id or old.end_kind not in ("left", "unknown"):
            continue
        if session.first_ms - old.last_ms <= RESTART_WITHIN_MS and not _emptied_between(analysis, old, session):
            found.append((old, session))
    return found


def _emptied_between(analysis: GroupAnalysis, old: Session, new: Session) -> bool:
    return any(g.size == 0 and old.last_ms - 100 <= g.stable_ms <= new.first_ms for g in analysis.generations)


def find(analysis: GroupAnalysis) -> Iterator[Finding]:
    hits = restarts(analysis)
    if len(hits) < 2:
        return
    start, end = hits[0][0].last_ms, hits[-1][1].first_ms
    if end - start > WINDOW_MS:
        hits = _densest(hits)
        start, end = hits[0][0].last_ms, hits[-1][1].first_ms
    clients = list(dict.fromkeys(new.member.name for _, new in hits))
    alive = {s.member.name for s in analysis.sessions if s.first_ms <= end and s.last_ms >= start}
    if len(clients) < max(2, SHARE_OF_CLIENTS * len(alive)):
        return
    inside = [r for r in analysis.rebalances if start - 1000 <= r.begin_ms <= end + 10_000 and r.outcome == "completed"]
    counted = [r for r in inside if r.kind != "followup"]
    if len(counted) < 1.5 * len(hits):
        return
    protocols = list(dict.fromkeys(r.after.protocol for r in inside if r.after.protocol))
    changed = len(protocols) > 1
    text = f"rolling restart of {several(len(clients), 'client')} ({listed(clients)}): {several(len(hits), 'restart')} "
    text += f"cost {several(len(counted), 'rebalance')}"
    if changed:
        text += f"; meanwhile the protocol changed ({' -> '.join(protocols)}), which is expected once"
    yield Finding(
        ID,
        "Rolling restart with dynamic members",
        INFO if changed else WARNING,
        CERTAIN if analysis.events.any or analysis.consumer else LIKELY,
        text,
        "Use static membership (group.instance.id, one per process) with a session.timeout.ms longer than a restart: "
        "restarts then cause no rebalance. With the new protocol they are cheap.",
        start,
        end,
        clients,
        {
            "restarts": len(hits),
            "rebalances_caused": len(counted),
            "unavailable_partition_s_hi": round(sum(r.cost.unavailable_partition_s[1] for r in inside), 3),
            "protocols": protocols,
            "restart_ms": [new.first_ms - old.last_ms for old, new in hits],
            "rebalances": [r.number for r in counted],
        },
    )


def _densest(hits: list[tuple[Session, Session]]) -> list[tuple[Session, Session]]:
    best: list[tuple[Session, Session]] = []
    for n, (old, _) in enumerate(hits):
        inside = [hit for hit in hits[n:] if hit[1].first_ms - old.last_ms <= WINDOW_MS]
        best = max(best, inside, key=len)
    return best
