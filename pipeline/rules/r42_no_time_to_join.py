"""R42: the join barrier is too short: each rebalance removes members that don't rejoin at once.

The barrier lasts for the largest rebalance timeout of the members (max.poll.interval.ms; the session timeout of a
client that sends JoinGroup v0). Members removed by such a short barrier did not crash.
"""

from __future__ import annotations

from collections.abc import Iterator

from kohort.pipeline.history.group_analysis import GroupAnalysis, once
from kohort.pipeline.history.member_sessions import Session
from kohort.pipeline.history.rebalance import Rebalance
from kohort.pipeline.rules.finding import CERTAIN, CRITICAL, LIKELY, WARNING, Finding, listed, seconds, several

ID = "R42"
AT_LEAST = 3
# members learn of a rebalance with their next heartbeat (every 3 s by default), so within 1 s at best
NO_TIME_MS = 1_500
SHORT_MS = 30_000
OFTEN = 6  # with this many removals a barrier is too short for these members, even if others make it


def find(analysis: GroupAnalysis) -> Iterator[Finding]:
    hits = hasty(analysis)
    if not hits:
        return
    evicted = sum(len(r.evicted) for r in hits)
    names = _names(analysis, hits)
    waits = [_wait_ms(r) for r in hits]
    timeout = max((r.before.rebalance_timeout_ms or 0 for r in hits), default=0)
    none = all(wait <= NO_TIME_MS for wait in waits)
    limit = f"a rebalance timeout of {seconds(timeout)}" if timeout else f"barriers of up to {seconds(max(waits))}"
    text = (
        f"{several(evicted, 'removal')} of members ({listed(names)}) at the end of {several(len(hits), 'join barrier')}"
    )
    text += f", with {limit}: {'no member can rejoin in that time' if none else 'members take longer than that to rejoin'}. "
    text += "They did not crash: each rejoins as a new member, and its join starts the next rebalance"
    yield Finding(
        ID,
        "The join barrier is too short for the members",
        CRITICAL if len(hits) >= AT_LEAST else WARNING,
        CERTAIN if none and timeout else LIKELY,
        text,
        "Raise max.poll.interval.ms of these clients (it is sent as the rebalance timeout; five minutes is the default). A "
        "client so old that it sends JoinGroup v0 uses session.timeout.ms instead: raise that, or update the client.",
        hits[0].begin_ms,
        hits[-1].stable_ms,
        names,
        {
            "evicted": evicted,
            "times": len(hits),
            "waits_ms": waits,
            "rebalance_timeout_ms": timeout or None,
            "rebalances": [r.number for r in hits],
        },
    )


def hasty(analysis: GroupAnalysis) -> list[Rebalance]:
    """Return rebalances that removed members at a barrier that was too short; empty if that was rare."""
    evicting = [r for r in analysis.rebalances if r.evicted and not r.is_epoch]
    none = [r for r in evicting if _wait_ms(r) <= NO_TIME_MS]
    if len(none) >= AT_LEAST:
        return none
    short = [r for r in evicting if _wait_ms(r) <= SHORT_MS]
    return short if len(short) >= OFTEN and len(_names(analysis, short)) > 1 else []


@once
def thrown_out(analysis: GroupAnalysis) -> set[Session]:
    """Return the sessions that ended this way."""
    members = {member_id for r in hasty(analysis) for member_id in r.evicted}
    return {s for s in analysis.sessions if s.end_kind == "barrier" and s.member.member_id in members}


def _wait_ms(r: Rebalance) -> int:
    """Return the length of the barrier, at most its timeout."""
    if r.start_ms is not None:
        return r.prepare_ms
    return min(r.before.rebalance_timeout_ms or r.prepare_ms, r.longest_prepare_ms or 1 << 40)


def _names(analysis: GroupAnalysis, hits: list[Rebalance]) -> list[str]:
    of = {session.member.member_id: session.member.name for session in analysis.sessions}
    return list(dict.fromkeys(of.get(member_id, member_id) for r in hits for member_id in r.evicted))
