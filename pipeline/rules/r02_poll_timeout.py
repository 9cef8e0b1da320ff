"""R02: a member leaves by itself because too much time passed between two of its polls.

Only Java clients give that reason. The leave of another client looks ordinary. It counts when the client came back and
nothing was committed for its partitions for about its rebalance timeout.
"""

from __future__ import annotations

from collections.abc import Iterator

from kohort.pipeline.history.group_analysis import GroupAnalysis
from kohort.pipeline.history.member_sessions import Session
from kohort.pipeline.rules.finding import LIKELY, WARNING, Finding, seconds, times, weakest

ID = "R02"
OFTEN = 2
_SILENT_SHARE = 0.9


def find(analysis: GroupAnalysis) -> Iterator[Finding]:
    by_client: dict[str, list[tuple[Session, str]]] = {}
    for session in analysis.sessions:
        if session.end_kind == "poll_timeout":
            by_client.setdefault(session.member.name, []).append((session, session.end_confidence))
        elif session.end_kind == "left" and _looks_like_one(analysis, session):
            by_client.setdefault(session.member.name, []).append((session, LIKELY))
    for client, hits in by_client.items():
        if len(hits) < OFTEN:
            continue
        timeout = hits[-1][0].member.rebalance_timeout_ms
        yield Finding(
            ID,
            "A client leaves at its poll timeout",
            WARNING,
            weakest(confidence for _, confidence in hits),
            f"{client} left by itself {times(len(hits))}: the time between two of its polls was longer than "
            "max.poll.interval.ms"
            + (f" ({seconds(timeout)})" if timeout else "")
            + ". Each time costs two rebalances: one when it leaves and one when it comes back",
            "Make batches smaller (max.poll.records), or raise max.poll.interval.ms to what the processing needs. The "
            "interrupted batch is processed twice.",
            hits[0][0].last_ms,
            hits[-1][0].last_ms,
            [client],
            {
                "times": len(hits),
                "max_poll_interval_ms": timeout,
                "left_ms": [session.last_ms for session, _ in hits],
                "members": [session.member.member_id for session, _ in hits],
            },
        )


def _looks_like_one(analysis: GroupAnalysis, session: Session) -> bool:
    timeout = session.member.rebalance_timeout_ms
    removal = analysis.events.removal_of(session.member.member_id, session.last_ms)
    if not timeout or (removal is not None and removal.reason):
        return False
    if not any(other.predecessor is session for other in analysis.sessions):
        return False
    generation = analysis.ownership.generation_at(session.last_ms - 1)
    if generation is None or session.member.member_id not in generation.members:
        return False
    mine = generation.parts_of(session.member.member_id)
    last = analysis.commits.last_of(mine, session.last_ms)
    others = analysis.commits.last_of(set(generation.owners) - mine, session.last_ms)
    if last is None or others is None or last < generation.stable_ms:
        return False
    return session.last_ms - last >= _SILENT_SHARE * timeout and others > last
