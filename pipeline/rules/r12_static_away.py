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
SHARE_IN_REBALANCE = 0.5  # with a larger part of a silence in a rebalance, the rebalance caused it


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
    hits += _temporarily_left(analysis) + _expired(analysis)
    if not hits:
        return
    hits.sort(key=lambda hit: hit[1])
    names = list(dict.fromkeys(name for name, *_ in hits))
    expired_names = [name for name, _, _, expired in hits if expired]
    longest = max(end - start for _, start, end, _ in hits)
    text = f"static members {listed(names)} were away {times(len(hits))} with partitions assigned to them, "
    text += f"up to {seconds(longest)}"
    if expired_names:
        text += f"; {listed(expired_names)} stayed away beyond the session timeout, which caused rebalances"
    yield Finding(
        ID,
        "Static member away, its partitions not consumed",
        WARNING if expired_names or longest >= 60_000 else INFO,
        CERTAIN if analysis.consumer else LIKELY,
        text,
        f"Set {_setting(analysis)} to about twice the restart time: restarts then cause no rebalance, and partitions don't "
        "wait long. Remove a member that won't return by its instance id.",
        hits[0][1],
        hits[-1][2],
        names,
        {
            "times": len(hits),
            "longest_ms": longest,
            "expired": expired_names,
            "away": [{"instance": name, "from_ms": start, "ms": end - start} for name, start, end, _ in hits],
        },
    )


def _rebalancing_ms(analysis: GroupAnalysis, stall: Stall) -> int:
    """Return the part of a silence spent in rebalances, including the time before the silence was noticed."""
    r = next((r for r in analysis.rebalances if r.number == stall.during_rebalance), None)
    return 0 if r is None else min(r.stable_ms, stall.end_ms) - max(r.begin_ms, stall.start_ms)


def _expired(analysis: GroupAnalysis) -> list[tuple[str, int, int, bool]]:
    """Find classic members that came back after their session had expired."""
    lost = {session.predecessor: session for session in analysis.sessions if session.predecessor is not None}
    return [
        (old.member.instance_id, old.last_ms - (old.member.session_timeout_ms or 0), new.first_ms, True)
        for old, new in lost.items()
        if old.member.instance_id and old.end_kind == "session_expired" and old.stay is None
    ]


def _setting(analysis: GroupAnalysis) -> str:
    static = [session.member for session in analysis.sessions if session.member.instance_id]
    # only the consumer protocol writes a record when a static member leaves temporarily
    return session_setting(static[-1] if static else Member("", speaks="consumer"))


def _temporarily_left(analysis: GroupAnalysis) -> list[tuple[str, int, int, bool]]:
    """Find static members of the consumer protocol that left temporarily, with their return or expiry."""
    if analysis.consumer is None:
        return []
    absences = []
    for left_ms, name in analysis.consumer.away:
        back = [ts for ts, instance, _ in analysis.consumer.returned if instance == name and ts >= left_ms]
        expiry_times = [
            stay.end_ms
            for stay in analysis.consumer.stays
            if stay.end_ms is not None and stay.member.instance_id == name and stay.end_ms >= left_ms
        ]
        expired = bool(expiry_times) and (not back or min(expiry_times) < min(back))
        end = min(expiry_times) if expired else (min(back) if back else analysis.group.until_ms)
        if expired and not any(s.first_ms >= end - 100 and s.member.instance_id == name for s in analysis.sessions):
            continue  # never came back: a shut-down
        absences.append((name, left_ms, end, expired))
    return absences
