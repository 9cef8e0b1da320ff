"""How a member left, from commits alone: when the commits of its partitions stopped.

The other members commit until their next heartbeat response contains the rebalance, and then wait. A member that left
before the rebalance began stopped committing before them. A member that the barrier waited for was removed when the
barrier ended; the age of its last commit at that moment shows which timeout removed it.
"""

from __future__ import annotations

from dataclasses import dataclass

from kohort.pipeline.history.commit_history import CommitHistory
from kohort.pipeline.history.inputs import TopicPartition
from kohort.pipeline.history.rebalance import Laggard, RebalanceFacts

SHARE_OF_BARRIER = 0.9
# Members commit until their next heartbeat: their silence is up to this much shorter than the wait.
HEARD_LATE_MS, HEARD_LATE_SHARE = 1500, 0.1
USUAL_GAP_MS = 1000  # time between two commits if there are too few to measure it
LATE_MS = 1000  # time that the coordinator or the client takes to act on a timeout
SHARE_OF_TIMEOUT = 0.7
TIMES_USUAL = 3


@dataclass(slots=True)
class Verdict:
    cause: str
    confidence: str
    member: str | None = None


def departure(r: RebalanceFacts, laggard: Laggard | None, member_id: str, commits: CommitHistory) -> Verdict:
    """Return whether a member left, expired, exceeded its poll interval or missed the barrier."""
    member = r.before.members[member_id]
    mine = r.before.parts_of(member_id)
    last, of_others = commits.last_of(mine, r.barrier_ms), commits.last_of(_waiting(r, laggard, mine), r.barrier_ms)
    timeout, session = r.before.rebalance_timeout_ms or 0, member.session_timeout_ms or 0
    own = member.rebalance_timeout_ms or timeout
    reached = timeout and (r.longest_prepare_ms or 0) >= timeout
    if of_others is not None and reached and whole_barrier(r.barrier_ms - max(last or 0, of_others), timeout):
        return Verdict("barrier_timeout", "likely", member_id)
    if last is None:
        return Verdict("session_expired" if member.instance_id else "leave_explicit", "possible", member_id)
    if last < r.before.stable_ms:  # a commit of the previous owner: this member's silence proves nothing
        expired = _just_over(r.barrier_ms - r.before.stable_ms, session, mine, commits)
        return Verdict("session_expired" if expired else "leave_explicit", "possible", member_id)
    ahead = of_others - last if of_others is not None else 0
    nobody_stayed = not any(m in r.after.members for m in r.before.members)
    if ahead > usual_gap_ms(mine, commits) or nobody_stayed:
        expired, timed_out = _just_over(r.barrier_ms - last, session, mine, commits), gave_up(r, member_id, commits)
        if expired:  # a process that stands still can't leave; where both settings are about the same it may be either
            return Verdict("session_expired", "possible" if timed_out else "likely", member_id)
        if timed_out:
            return Verdict("leave_poll_timeout", "likely", member_id)
    if (
        timeout
        and (r.longest_prepare_ms or 0) >= timeout
        and ahead >= SHARE_OF_TIMEOUT * own > SHARE_OF_TIMEOUT * session
    ):
        return Verdict("leave_poll_timeout", "likely", member_id)
    if ahead >= SHARE_OF_TIMEOUT * session > 0:
        return Verdict("session_expired", "likely", member_id)
    if member.instance_id:  # static members don't leave when they close (KIP-345)
        return Verdict("session_expired", "possible", member_id)
    return Verdict("leave_explicit", "likely", member_id)


def departure_from_consumer_group(
    facts: RebalanceFacts, member_id: str, commits: CommitHistory, slow_to_revoke_ms: int, moved_ms: list[int]
) -> Verdict:
    """Determine whether a member closed normally, or was silent for its poll interval or for a session timeout.

    Consumers commit when they close, before their revoke callback. The session timeout of the consumer protocol is a
    broker setting that no record contains. A silence counts as a session timeout if other members didn't share it, if
    it is not a poll interval, and if it is longer than the member ever took to revoke.

    Args:
        slow_to_revoke_ms: Longest revocation of the member so far.
        moved_ms: Times at which the coordinator moved or restarted.
    """
    mine = facts.before.parts_of(member_id)
    last = commits.last_of(mine, facts.seen_ms)
    of_others = commits.last_of(set(facts.before.owners) - mine, facts.seen_ms)
    usual = usual_gap_ms(mine, commits)
    if last is None or facts.seen_ms - last <= TIMES_USUAL * usual + LATE_MS:
        return Verdict("leave_explicit", "possible", member_id)
    silent_ms = facts.seen_ms - last
    if any(last <= moved <= facts.seen_ms for moved in moved_ms):
        return Verdict("session_expired", "likely", member_id)
    if silent_ms * SHARE_OF_TIMEOUT <= slow_to_revoke_ms:
        return Verdict("leave_explicit", "possible", member_id)
    if of_others is not None and facts.seen_ms - of_others >= silent_ms / 2:
        return Verdict("leave_explicit", "possible", member_id)
    own = facts.before.members[member_id].rebalance_timeout_ms or 0
    if 0 < SHARE_OF_BARRIER * own <= silent_ms:
        return Verdict("leave_poll_timeout", "likely", member_id)
    return Verdict("session_expired", "likely", member_id)


def whole_barrier(silent_ms: int, timeout_ms: int) -> bool:
    """Return whether a silence before the end of a barrier matches a barrier that ran to its timeout."""
    return silent_ms >= SHARE_OF_BARRIER * timeout_ms - min(HEARD_LATE_MS, HEARD_LATE_SHARE * timeout_ms)


def gave_up(r: RebalanceFacts, member_id: str, commits: CommitHistory) -> bool:
    """Return whether a barrier ended when a member's poll timeout expired."""
    return _ended_at(r, member_id, r.before.members[member_id].rebalance_timeout_ms, commits)


def lost_session(r: RebalanceFacts, member_id: str, commits: CommitHistory) -> bool:
    """Return whether a barrier ended when a member's session expired."""
    return _ended_at(r, member_id, r.before.members[member_id].session_timeout_ms, commits)


def _ended_at(r: RebalanceFacts, member_id: str, timeout_ms: int | None, commits: CommitHistory) -> bool:
    mine = r.before.parts_of(member_id)
    last = commits.last_of(mine, r.barrier_ms)
    return last is not None and _just_over(r.barrier_ms - last, timeout_ms or 0, mine, commits)


def usual_gap_ms(topic_partitions: set[TopicPartition], commits: CommitHistory) -> float:
    return max(
        (gap for topic_partition in topic_partitions if (gap := commits.usual_gap_ms(topic_partition))),
        default=USUAL_GAP_MS,
    )


def _just_over(age_ms: int, timeout_ms: int, mine: set[TopicPartition], commits: CommitHistory) -> bool:
    """Return whether a timeout has just expired. The last activity was at most one commit gap after the last commit."""
    return 0 < timeout_ms <= age_ms <= timeout_ms + usual_gap_ms(mine, commits) + LATE_MS


def _waiting(r: RebalanceFacts, laggard: Laggard | None, mine: set[TopicPartition]) -> set[TopicPartition]:
    """Return the partitions of members that joined at once. A member that joins last commits after the wait."""
    laggard_id = laggard.member_id if laggard is not None and laggard.how == "rejoined" else None
    stayed = {
        topic_partition
        for topic_partition, owner in r.before.owners.items()
        if owner in r.after.members and owner != laggard_id
    }
    return (
        stayed or {topic_partition for topic_partition, owner in r.before.owners.items() if owner != laggard_id} - mine
    )
