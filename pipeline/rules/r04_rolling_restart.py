"""R04: a rolling deploy with dynamic members, where each restart is a leave and a join.

In a consumer group the other members continue to consume, so it is a warning only if partitions had no consumer for
long. A deploy that changes the protocol is expected once.
"""

from __future__ import annotations

from collections.abc import Iterator

from kohort.pipeline.history.group_analysis import GroupAnalysis
from kohort.pipeline.history.member_sessions import Session
from kohort.pipeline.history.poll_timeouts import left_at_poll_timeout
from kohort.pipeline.history.rebalance import Rebalance
from kohort.pipeline.rules.finding import (
    CERTAIN,
    INFO,
    LIKELY,
    WARNING,
    Finding,
    listed,
    seconds,
    several,
    weakest,
    what_if,
)
from kohort.pipeline.rules.r40_refused_rollout import declines
from kohort.pipeline.rules.replaced_pods import Deploy, deploys
from kohort.pipeline.rules.session_settings import session_setting
from kohort.pipeline.rules.waits import waits_for_dead

ID = "R04"
WINDOW_MS = 15 * 60_000
SHARE_OF_CLIENTS = 0.6
RESTART_WITHIN_MS = 5 * 60_000
MUCH_PARTITION_S = 60
MOST_RESTARTS = 2  # with more restarts per client on average it is not a deploy
_CLOSE = (
    "Close the consumer when the process receives SIGTERM, and give it time for that "
    "(terminationGracePeriodSeconds): its partitions are then reassigned at once. "
)
_CONSUMER = " With group.protocol=consumer the others keep reading, but partitions move at the pace of heartbeats and can wait longer."


def restarts(analysis: GroupAnalysis) -> list[tuple[Session, Session]]:
    """Return pairs of old and new session of dynamic clients that left properly and came back."""
    pairs = []
    too_slow = left_at_poll_timeout(analysis)
    for session in analysis.sessions:
        old = session.predecessor
        if old is None or old in too_slow or session.member.instance_id or old.end_kind not in ("left", "unknown"):
            continue
        if session.first_ms - old.last_ms <= RESTART_WITHIN_MS and not _emptied_between(analysis, old, session):
            pairs.append((old, session))
    return pairs


def _emptied_between(analysis: GroupAnalysis, old: Session, new: Session) -> bool:
    return any(g.size == 0 and old.last_ms - 100 <= g.stable_ms <= new.first_ms for g in analysis.generations)


def find(analysis: GroupAnalysis) -> Iterator[Finding]:
    refused = declines(analysis)
    for finding in (*_restarted(analysis), *(_replaced(analysis, deploy) for deploy in deploys(analysis))):
        if not any(other.start_ms <= finding.end_ms and finding.start_ms <= other.end_ms for other in refused):
            yield finding


def _replaced(analysis: GroupAnalysis, deploy: Deploy) -> Finding:
    """Return a finding about members that were replaced by others."""
    start, end = deploy.start_ms, deploy.end_ms
    caused = [r for r in analysis.rebalances if start - 1000 <= r.begin_ms <= end + 10_000 and r.reached_barrier]
    unserved_s = sum(r.cost.unavailable_partition_s[1] for r in caused)
    cheap = bool(caused) and all(r.is_epoch for r in caused) and unserved_s < MUCH_PARTITION_S
    clients = list(dict.fromkeys(session.member.name for session in deploy.new))
    killed = [session for session in deploy.old if session.end_kind == "session_expired"]
    timeout_ms = max((session.member.session_timeout_ms or 0 for session in killed), default=0)
    replaced = f"deploy of {deploy.name}: {len(deploy.old)} pods" if deploy.name else f"{len(deploy.old)} members"
    by = f"{len(deploy.new)} with another hash in their names" if deploy.hashes else f"{len(deploy.new)} others"
    waits = waits_for_dead(analysis, {session.member.member_id for session in killed})
    return Finding(
        ID,
        "Deploy that kills its members" if killed else "Deploy that replaces its members",
        INFO if cheap and not killed else WARNING,
        CERTAIN if deploy.hashes else LIKELY,
        f"{replaced} were replaced by {by} within {seconds(end - start)}, which caused {_counted(caused)}"
        + (f"; {_killed(killed, len(deploy.old), timeout_ms)}" if killed else "")
        + waits.text,
        (_CLOSE if killed else "")
        + "Give the pods names that stay (a StatefulSet, group.instance.id from the pod's name): they come back without a rebalance, "
        "while each new name joins and each old one leaves. Otherwise let several pods change at a "
        "time (maxSurge). With cooperative-sticky or group.protocol=consumer the others keep reading, but a restart has more or longer "
        f"rebalances. {what_if(analysis.group_id, 'partition.assignment.strategy=cooperative-sticky')}",
        start,
        end,
        clients,
        {
            "restarts": len(deploy.new),
            "rebalances_caused": len(caused),
            "unavailable_partition_s_hi": round(unserved_s, 3),
            "restart_ms": [],
            "clients": [session.member.name for session in deploy.old],
            "members": [session.member.member_id for session in killed],
            **waits.evidence(),
            "rebalances": [r.number for r in caused],
        },
        cause_confidence=weakest(session.end_confidence for session in killed) if killed else "",
    )


def _killed(killed: list[Session], of: int, timeout_ms: int) -> str:
    how_sure = (
        "none of the old ones left the group"
        if len(killed) == of
        else f"{len(killed)} of {of} old ones did not leave it"
    )
    if any(session.end_confidence != CERTAIN for session in killed):
        how_sure = "judging by their missing commits, " + how_sure
    until = f" ({seconds(timeout_ms)})" if timeout_ms else ""
    return f"{how_sure}: their partitions had no consumer until the end of the session timeout{until}"


def _restarted(analysis: GroupAnalysis) -> Iterator[Finding]:
    """Find clients that come back with the same client id."""
    hits = restarts(analysis)
    if len(hits) < 2:
        return
    start, end = hits[0][0].last_ms, hits[-1][1].first_ms
    if end - start > WINDOW_MS:
        hits = _densest(hits)
        start, end = hits[0][0].last_ms, hits[-1][1].first_ms
    clients = list(dict.fromkeys(new.member.name for _, new in hits))
    if len(hits) > MOST_RESTARTS * len(clients):
        return  # clients that repeatedly leave and rejoin are not a deploy
    alive = {s.member.name for s in analysis.sessions if s.first_ms <= end and s.last_ms >= start}
    if len(clients) < max(2, SHARE_OF_CLIENTS * len(alive)):
        return
    inside = [r for r in analysis.rebalances if start - 1000 <= r.begin_ms <= end + 10_000 and r.reached_barrier]
    merged = sum(r.kind != "followup" for r in inside) < 1.5 * len(hits)
    protocols = _protocols(inside)
    moved = {new.member.speaks for old, new in hits if old.member.speaks != new.member.speaks}
    changed = len(protocols) > 1 or bool(moved)
    unserved_s = sum(r.cost.unavailable_partition_s[1] for r in inside)
    of_epochs = all(r.is_epoch for r in inside)
    text = f"rolling restart of {several(len(clients), 'client')} ({listed(clients)}): {several(len(hits), 'restart')} "
    text += f"caused {_counted(inside)}"
    text += "; clients that restarted together caused one" if merged else ""
    if moved:
        text += f"; with it clients changed to the {' and the '.join(sorted(moved))} protocol, which is expected once"
    elif changed:
        text += f"; in that time the protocol changed ({' -> '.join(protocols)}), which is expected once"
    yield Finding(
        ID,
        "Rolling restart with dynamic members",
        INFO if changed or merged or (of_epochs and unserved_s < MUCH_PARTITION_S) else WARNING,
        CERTAIN if moved or _said_so(analysis, hits) else LIKELY,
        text,
        "Use static membership (group.instance.id, one per process), with a restart shorter than "
        f"{session_setting(hits[-1][1].member)}: restarts then cause no rebalance, but the "
        f"partitions of a restarting member wait for it. {what_if(analysis.group_id, 'group.instance.id=static')}"
        f"{'' if of_epochs else _CONSUMER}",
        start,
        end,
        clients,
        {
            "restarts": len(hits),
            "rebalances_caused": len(inside),
            "unavailable_partition_s_hi": round(unserved_s, 3),
            "protocols": protocols,
            "restart_ms": [new.first_ms - old.last_ms for old, new in hits],
            "rebalances": [r.number for r in inside],
        },
    )


def _counted(rebalances: list[Rebalance]) -> str:
    """Describe the number of rebalances, and how many of them are second rounds."""
    follow_ups = sum(r.kind == "followup" for r in rebalances)
    second = f" ({follow_ups} of them second rounds of the cooperative assignor)" if follow_ups else ""
    return several(len(rebalances), "rebalance") + second


def _said_so(analysis: GroupAnalysis, hits: list[tuple[Session, Session]]) -> bool:
    """Return whether each client gave a reason when it left; without one it may have exceeded max.poll.interval.ms."""
    removals = (analysis.events.removal_of(old.member.member_id, old.last_ms) for old, _ in hits)
    return all(removal is not None and removal.reason for removal in removals)


def _protocols(rebalances: list[Rebalance]) -> list[str]:
    """Return the assignors of classic groups and the conversion to a consumer group, in order."""
    return list(dict.fromkeys(r.after.protocol for r in rebalances if r.after.protocol))


def _densest(hits: list[tuple[Session, Session]]) -> list[tuple[Session, Session]]:
    best: list[tuple[Session, Session]] = []
    for n, (old, _) in enumerate(hits):
        inside = [hit for hit in hits[n:] if hit[1].first_ms - old.last_ms <= WINDOW_MS]
        best = max(best, inside, key=len)
    return best
