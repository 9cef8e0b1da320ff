"""Members that left the group themselves because too much time passed between two polls.

Only Java clients give that reason. Another client's leave looks like any other. It counts if the client rejoined and
nothing was committed for its partitions for about its rebalance timeout.
"""

from __future__ import annotations

from kohort.pipeline.history.group_analysis import GroupAnalysis, once
from kohort.pipeline.history.lag import most_lag
from kohort.pipeline.history.member_sessions import Session

_SILENT_SHARE = 0.9


@once
def left_at_poll_timeout(analysis: GroupAnalysis) -> dict[Session, str]:
    """Return those sessions with the confidence."""
    confidences = {}
    returned = {session.predecessor for session in analysis.sessions if session.predecessor is not None}
    for session in analysis.sessions:
        if session.end_kind == "poll_timeout":
            confidences[session] = session.end_confidence
        elif session.end_kind == "left" and session in returned and _looks_like_one(analysis, session):
            confidences[session] = "likely"
    return confidences


def _looks_like_one(analysis: GroupAnalysis, session: Session) -> bool:
    timeout = session.member.rebalance_timeout_ms
    removal = analysis.events.removal_of(session.member.member_id, session.last_ms)
    if not timeout or (removal is not None and removal.reason):
        return False
    generation = analysis.ownership.generation_at(session.last_ms - 1)
    if generation is None or session.member.member_id not in generation.members:
        return False
    mine = generation.parts_of(session.member.member_id)
    last = analysis.commits.last_of(mine, session.last_ms)
    last_of_others = analysis.commits.last_of(set(generation.owners) - mine, session.last_ms)
    if last_of_others is None:
        return False
    if last is None or last < generation.stable_ms:  # the first records that it received were the slow ones
        waited = any(
            most_lag(analysis.group, topic_partition, generation.stable_ms, session.last_ms) for topic_partition in mine
        )
        return waited and session.last_ms - generation.stable_ms >= _SILENT_SHARE * timeout
    return session.last_ms - last >= _SILENT_SHARE * timeout and last_of_others > last
