"""R12: a static member is away and its partitions wait for it."""

from __future__ import annotations

from collections.abc import Iterator

from kohort.pipeline.history.group_analysis import GroupAnalysis
from kohort.pipeline.history.inputs import Member
from kohort.pipeline.history.stalls import Stall
from kohort.pipeline.rules.finding import CERTAIN, INFO, LIKELY, WARNING, Finding, listed, seconds, times
from kohort.pipeline.rules.session_settings import session_setting

ID = "R12"
SHARE_OF_SESSION = 0.5
SHARE_IN_REBALANCE = 0.5
"""A silence of which more is a rebalance is its cost, not an absence."""


def find(analysis: GroupAnalysis) -> Iterator[Finding]:
    hits: list[tuple[str, int, int, bool]] = []
    for stall in analysis.stalls:
        generation = analysis.ownership.generation_at(stall.start_ms + 1)
        member = generation.members.get(stall.owner_id or "") if generation else None
        if stall.kind != "member_silent" or member is None or not member.instance_id:
            continue
        if _rebalancing_ms(analysis, stall) > SHARE_IN_REBALANCE * stall.length_ms:
            continue
        timeout = member.session_timeout_ms
        if timeout and stall.length_ms >= SHARE_OF_SESSION * timeout:
            hits.append((member.instance_id, stall.start_ms, stall.end_ms, False))
    hits += _away(analysis) + _expired(analysis)
    if not hits:
        return
    hits.sort(key=lambda hit: hit[1])
    names = list(dict.fromkeys(name for name, *_ in hits))
    late = [name for name, _, _, expired in hits if expired]
    longest = max(end - start for _, start, end, _ in hits)
    text = f"static members {listed(names)} were away {times(len(hits))} with partitions assigned to them, "
    text += f"up to {seconds(longest)}"
    if late:
        text += f"; {listed(late)} stayed away longer than the session timeout, which caused rebalances"
    yield Finding(
        ID,
        "Static member away, its partitions unserved",
        WARNING if late or longest >= 60_000 else INFO,
        CERTAIN if analysis.consumer else LIKELY,
        text,
        f"Set {_setting(analysis)} to about twice the restart time: restarts then cause no rebalance, and partitions don't "
        "wait long. Remove a member that is gone for good by its instance id.",
        hits[0][1],
        hits[-1][2],
        names,
        {
            "times": len(hits),
            "longest_ms": longest,
            "expired": late,
            "away": [{"instance": name, "from_ms": start, "ms": end - start} for name, start, end, _ in hits],
        },
    )


def _rebalancing_ms(analysis: GroupAnalysis, stall: Stall) -> int:
    """How much of a silence is a rebalance's. With a known start a rebalance reaches back into the silence before it."""
    r = next((r for r in analysis.rebalances if r.number == stall.during_rebalance), None)
    return 0 if r is None else min(r.stable_ms, stall.end_ms) - max(r.begin_ms, stall.start_ms)


def _expired(analysis: GroupAnalysis) -> list[tuple[str, int, int, bool]]:
    """Classic members that were away for longer than their session, and came back."""
    lost = {session.predecessor: session for session in analysis.sessions if session.predecessor is not None}
    return [
        (old.member.instance_id, old.last_ms - (old.member.session_timeout_ms or 0), new.first_ms, True)
        for old, new in lost.items()
        if old.member.instance_id and old.end_kind == "session_expired" and old.stay is None
    ]


def _setting(analysis: GroupAnalysis) -> str:
    static = [session.member for session in analysis.sessions if session.member.instance_id]
    # who was away may be known by the record of its leave alone, which only the consumer protocol has
    return session_setting(static[-1] if static else Member("", speaks="consumer"))


def _away(analysis: GroupAnalysis) -> list[tuple[str, int, int, bool]]:
    """New protocol: the record says that a member left for a short time, and another that it is back or gone."""
    if analysis.consumer is None:
        return []
    found = []
    for left_ms, name in analysis.consumer.away:
        back = [ts for ts, instance, _ in analysis.consumer.returned if instance == name and ts >= left_ms]
        gone = [
            stay.end_ms
            for stay in analysis.consumer.stays
            if stay.end_ms is not None and stay.member.instance_id == name and stay.end_ms >= left_ms
        ]
        expired = bool(gone) and (not back or min(gone) < min(back))
        end = min(gone) if expired else (min(back) if back else analysis.group.until_ms)
        if expired and not any(s.first_ms >= end - 100 and s.member.instance_id == name for s in analysis.sessions):
            continue  # never came back: a shut-down
        found.append((name, left_ms, end, expired))
    return found
