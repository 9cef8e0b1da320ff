"""R23: a member of the consumer protocol is slow to revoke partitions, and other members wait for them.

The group's records contain both: the periods in which it had partitions to revoke, and those in which others waited.
"""

from __future__ import annotations

from collections.abc import Iterator

from kohort.pipeline.history.consumer_timeline import UNRELEASED, UNREVOKED, Wait
from kohort.pipeline.history.group_analysis import GroupAnalysis
from kohort.pipeline.rules.finding import CERTAIN, CRITICAL, POSSIBLE, WARNING, Finding, listed, seconds, times
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
    if analysis.consumer is None:
        return
    by_client: dict[str, list[Wait]] = {}
    until = analysis.group.until_ms
    for wait in analysis.consumer.waits:
        if wait.state != UNREVOKED:
            continue
        share = SHARE_OF_TIMEOUT * wait.rebalance_timeout_ms if wait.rebalance_timeout_ms else LONG_MS
        if wait.length_ms(until) >= max(SHORTEST_MS, min(share, LONG_MS)):
            by_client.setdefault(wait.client, []).append(wait)
    for client, hits in by_client.items():
        yield _finding(analysis, client, sorted(hits, key=lambda wait: wait.start_ms))


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
        session.member.member_id == wait.member_id
        and session.end_kind == "epoch_timeout"
        and abs(session.last_ms - (wait.end_ms or 0)) < 1000
        for session in analysis.sessions
    )


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
