"""Session timeouts of members and of issued member ids (classic-groups §3.7, §4.4, §6.2, §6.3).

A heartbeat only changes the deadline of the session; the timing wheel reads it when the old deadline is reached.
"""

# This module and `rebalancing` import each other: a rebalance starts sessions, an expired session starts a rebalance.
from kohort.coordinator.classic import rebalancing
from kohort.coordinator.classic.classic_group import ClassicGroup
from kohort.coordinator.classic.classic_member import Member
from kohort.coordinator.classic.replies import answer_join, join_refused
from kohort.coordinator.classic.states import State
from kohort.coordinator.effects import Cause
from kohort.protocol.errors import ErrorCode
from kohort.purgatory import DelayedOperation


class Session(DelayedOperation):
    """Timer that removes a silent member, or discards a member id that was issued."""

    __slots__ = ("group", "member_id")

    def __init__(self, deadline_ms: int, group: ClassicGroup, member_id: str) -> None:
        super().__init__(deadline_ms)
        self.group = group
        self.member_id = member_id

    def on_complete(self, now_ms: int, *, expired: bool) -> None:
        _expire(self.group, self.member_id, now_ms)


def extend(group: ClassicGroup, member: Member, now_ms: int, timeout_ms: int | None = None) -> None:
    """Restart the session of a member.

    Args:
        timeout_ms: Used in place of the member's session timeout.
    """
    deadline_ms = now_ms + (member.session_timeout_ms if timeout_ms is None else timeout_ms)
    session = member.session
    if session is None:
        member.session = session = Session(deadline_ms, group, member.member_id)
        group.coordinator.purgatory.wait(session)
    elif deadline_ms >= session.deadline_ms:
        session.deadline_ms = deadline_ms  # the wheel reads it when the old deadline is reached
    else:
        group.coordinator.purgatory.postpone(session, deadline_ms)


def hand_out(group: ClassicGroup, member_id: str, timeout_ms: int, now_ms: int) -> None:
    """Store an issued member id until it is used, for at most `timeout_ms`."""
    session = Session(now_ms + timeout_ms, group, member_id)
    if group.pending_joins is None:
        group.pending_joins = {}
    group.pending_joins[member_id] = session
    group.coordinator.purgatory.wait(session)


def _expire(group: ClassicGroup, member_id: str, now_ms: int) -> None:
    if group.is_pending(member_id):
        group.forget_pending(member_id)
        group.coordinator.observer.member_id_discarded(group, member_id)
        rebalancing.complete_without(group, Cause("new_member_join_timeout", member_id), now_ms)
        return
    member = group.members[member_id]
    member.session = None  # it has expired
    if member.satisfies_heartbeat:
        return  # it gets a new session when the phase that it waits for ends
    cause = member.cause("new_member_join_timeout" if member.is_new else "session_expired")
    answer_join(group, member, join_refused(ErrorCode.unknown_member_id, ""))
    group.remove(member_id)
    group.coordinator.observer.member_removed(group, member, cause.name)
    _rebalance_without(group, cause, now_ms)


def _rebalance_without(group: ClassicGroup, cause: Cause, now_ms: int) -> None:
    if group.state is State.PREPARING_REBALANCE:
        rebalancing.complete_without(group, cause, now_ms)
    elif group.can_rebalance:
        rebalancing.unattended(group, lambda: rebalancing.prepare_rebalance(group, cause, now_ms))
