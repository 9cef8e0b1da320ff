"""Sessions: how long a member, or an id that was handed out, may be silent (classic-groups §3.7, §4.4, §6.2, §6.3).

A heartbeat only moves the session's deadline; the timing wheel finds out when the old one comes up.
"""

# This module and `rebalancing` need each other: a rebalance arms sessions, a session that ends starts a rebalance.
from kohort.coordinator.classic import rebalancing
from kohort.coordinator.classic.classic_group import ClassicGroup
from kohort.coordinator.classic.classic_member import Member
from kohort.coordinator.classic.replies import answer_join, join_refused
from kohort.coordinator.classic.states import State
from kohort.coordinator.effects import Cause
from kohort.protocol.errors import ErrorCode
from kohort.purgatory import DelayedOperation


class Session(DelayedOperation):
    """Ends the membership of one who stays silent, or the right to use an id."""

    __slots__ = ("group", "member_id")

    def __init__(self, deadline_ms: int, group: ClassicGroup, member_id: str) -> None:
        super().__init__(deadline_ms)
        self.group = group
        self.member_id = member_id

    def on_complete(self, now_ms: int, *, expired: bool) -> None:
        """Always by its deadline: whoever goes before takes the session away."""
        _expire(self.group, self.member_id, now_ms)


def extend(group: ClassicGroup, member: Member, now_ms: int, timeout_ms: int | None = None) -> None:
    """Gives a member its session timeout, or `timeout_ms`, from now on."""
    deadline_ms = now_ms + (member.session_timeout_ms if timeout_ms is None else timeout_ms)
    session = member.session
    if session is None:
        member.session = session = Session(deadline_ms, group, member.member_id)
        group.coordinator.purgatory.wait(session)
    elif deadline_ms >= session.deadline_ms:
        session.deadline_ms = deadline_ms  # the wheel finds out when the old deadline comes up
    else:
        group.coordinator.purgatory.postpone(session, deadline_ms)


def hand_out(group: ClassicGroup, member_id: str, timeout_ms: int, now_ms: int) -> None:
    """Remembers an id until it is used, at most for `timeout_ms`."""
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
    member.session = None  # this one is over
    if member.satisfies_heartbeat:
        return  # the end of the phase that it waits for gives it a new session
    cause = member.cause("new_member_join_timeout" if member.is_new else "session_expired")
    answer_join(group, member, join_refused(ErrorCode.unknown_member_id, ""))
    group.remove(member_id)
    group.coordinator.observer.member_removed(group, member, cause.name)
    _gone(group, cause, now_ms)


def _gone(group: ClassicGroup, cause: Cause, now_ms: int) -> None:
    if group.state is State.PREPARING_REBALANCE:
        rebalancing.complete_without(group, cause, now_ms)
    elif group.can_rebalance:
        rebalancing.unattended(group, lambda: rebalancing.prepare_rebalance(group, cause, now_ms))
