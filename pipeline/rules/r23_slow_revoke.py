"""R23: a member of the consumer protocol is slow to revoke partitions, and other members wait for them.

The group's records contain both: the periods in which it had partitions to revoke, and those in which others waited.
"""

from __future__ import annotations

from collections.abc import Iterator

from kohort.pipeline.history.consumer_timeline import REMOVAL_WITHIN_MS, UNRELEASED, UNREVOKED, Wait
from kohort.pipeline.history.group_analysis import GroupAnalysis
from kohort.pipeline.history.member_sessions import Session
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
)
from kohort.pipeline.rules.waits import began_long_before

ID = "R23"
SHARE_OF_TIMEOUT = 0.5
LONG_MS = 5000
SHORTEST_MS = 2000
_GROUP_STOOD = (
    "Take a thread dump of several members, or check what they have in common (a database, a service): they all stood still "
    "before any partition was to be revoked."
)


def find(analysis: GroupAnalysis) -> Iterator[Finding]:
    by_client: dict[str, list[Wait]] = {}
    until = analysis.group.until_ms
    waits = analysis.consumer.waits if analysis.consumer is not None else []
    for wait in waits:
        if wait.state != UNREVOKED:
            continue
        share = SHARE_OF_TIMEOUT * wait.rebalance_timeout_ms if wait.rebalance_timeout_ms else LONG_MS
        if wait.length_ms(until) >= max(SHORTEST_MS, min(share, LONG_MS)):
            by_client.setdefault(wait.client, []).append(wait)
    for client, hits in by_client.items():
        yield _finding(analysis, client, sorted(hits, key=lambda wait: wait.start_ms))
    removed: dict[str, list[Session]] = {}
    for session in analysis.sessions:
        if session.end_kind == "epoch_timeout" and not any(_is_end_of(session, wait) for wait in waits):
            removed.setdefault(session.member.name, []).append(session)
    for client, sessions in removed.items():
        yield _removed(analysis, client, sessions)


def _removed(analysis: GroupAnalysis, client: str, sessions: list[Session]) -> Finding:
    """Return a finding about a member whose revocation is not in the records, only its removal in events."""
    removals = [analysis.events.removal_of(session.member.member_id, session.last_ms) for session in sessions]
    timeouts = [removal.timeout_ms for removal in removals if removal is not None and removal.timeout_ms]
    timeout_ms = max(timeouts, default=0) or sessions[-1].member.rebalance_timeout_ms
    successors = [other for session in sessions for other in analysis.sessions if other.predecessor is session]
    back_ms: list[int | None] = [max(0, other.first_ms - (other.predecessor or other).last_ms) for other in successors]
    within = f" within {seconds(timeout_ms)}, its rebalance timeout" if timeout_ms else " within its rebalance timeout"
    return Finding(
        ID,
        "A member was removed because it did not revoke in time",
        CRITICAL,
        CERTAIN,
        f"the coordinator removed {client} {times(len(sessions))}, because it did not revoke partitions{within}; "
        + (f"it rejoined after at most {seconds(max(ms or 0 for ms in back_ms))}" if back_ms else "it did not rejoin")
        + "; members that were to get its partitions waited for them until then",
        f"Take a thread dump of {client} while it processes a batch: the batch, or the revoke callback, takes longer than "
        "max.poll.interval.ms, which is also the rebalance timeout. Use a smaller max.poll.records, or do less in the callback.",
        sessions[0].last_ms - (timeout_ms or 0),
        sessions[-1].last_ms,
        [client],
        {
            "times": len(sessions),
            "fenced": len(sessions),
            "members": [session.member.member_id for session in sessions],
            "back_after_ms": back_ms,
            "rebalance_timeout_ms": timeout_ms or None,
        },
        cause_confidence=LIKELY,
    )


def _finding(analysis: GroupAnalysis, client: str, hits: list[Wait]) -> Finding:
    until = analysis.group.until_ms
    lengths = [wait.length_ms(until) for wait in hits]
    waited = _waited(analysis, hits)
    fenced = [wait for wait in hits if _fenced(analysis, wait)]
    timeout = hits[-1].rebalance_timeout_ms
    text = f"{client} took up to {seconds(max(lengths))} to revoke partitions, {times(len(hits))}"
    if waited:
        text += f"; {listed(f'{name} waited {seconds(length)} for them' for name, length in waited.items())}"
    if fenced:
        text += f"; the coordinator removed {client} after its rebalance timeout"
    if all(_stood_still(analysis, wait) for wait in hits):
        text += "; in that time it committed nothing for the partitions that it keeps, either"
    group_stood = all(_group_stood_before(analysis, wait) for wait in hits)
    if group_stood:
        text += "; the whole group had committed nothing since long before that, so the reason is not the revocation"
    return Finding(
        ID,
        "Partitions were not revoked while the whole group stood still"
        if group_stood
        else "A member is slow to revoke partitions",
        CRITICAL if fenced else WARNING,
        CERTAIN,
        text,
        _GROUP_STOOD
        if group_stood
        else "Do less in the revoke callback, and use a smaller max.poll.records: the callback is slow, or the batch in progress "
        "during the revocation. A lower max.poll.interval.ms"
        + (f" (now {seconds(timeout)})" if timeout else "")
        + " limits how long others wait.",
        hits[0].start_ms,
        hits[-1].end_ms or until,
        [] if group_stood else [client],
        {
            "times": len(hits),
            "revoke_ms": lengths,
            "longest_ms": max(lengths),
            "waiting": sorted(waited),
            "waited_ms": waited,
            "fenced": len(fenced),
            "rebalance_timeout_ms": timeout,
        },
        cause_confidence=POSSIBLE if group_stood else "",
    )


def _waited(analysis: GroupAnalysis, hits: list[Wait]) -> dict[str, int]:
    """Return how long each other member waited for this member's partitions, the longest first."""
    until = analysis.group.until_ms
    assert analysis.consumer is not None
    waited: dict[str, int] = {}
    for other in analysis.consumer.waits:
        if other.state != UNRELEASED:
            continue
        for wait in hits:
            both = min(wait.end_ms or until, other.end_ms or until) - max(wait.start_ms, other.start_ms)
            if both > 0 and other.member_id != wait.member_id:
                waited[other.client] = waited.get(other.client, 0) + both
    return dict(sorted(waited.items(), key=lambda item: -item[1]))


def _fenced(analysis: GroupAnalysis, wait: Wait) -> bool:
    """Return whether the member was fenced: by its event or, without one, because its end matches the timeout."""
    return wait.ended == "gone" and any(
        session.end_kind == "epoch_timeout" and _is_end_of(session, wait) for session in analysis.sessions
    )


def _is_end_of(session: Session, wait: Wait) -> bool:
    return session.member.member_id == wait.member_id and abs(session.last_ms - (wait.end_ms or 0)) < REMOVAL_WITHIN_MS


def _group_stood_before(analysis: GroupAnalysis, wait: Wait) -> bool:
    """Return whether no partition of the group advanced from long before a revocation to its end."""
    end_ms = wait.end_ms or analysis.group.until_ms
    silence = analysis.commits.silence_over(wait.start_ms, end_ms)
    usual_ms = analysis.commits.usual_step_ms()
    if silence is None or usual_ms is None or silence[1] < end_ms:
        return False
    return began_long_before(wait.start_ms - silence[0], usual_ms)


def _stood_still(analysis: GroupAnalysis, wait: Wait) -> bool:
    """Return whether partitions that it keeps were committed before, but not while it revoked others."""
    generation = analysis.ownership.generation_at(wait.start_ms - 1)
    mine = generation.parts_of(wait.member_id) if generation is not None else set()
    end_ms = wait.end_ms or analysis.group.until_ms
    last = analysis.commits.last_of(mine - wait.topic_partitions, end_ms - 1)
    return last is not None and last <= wait.start_ms + 1000
