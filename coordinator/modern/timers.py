"""Timers of members of groups of the newer protocols (consumer-groups §9)."""

from collections.abc import Callable, Mapping
from typing import Any, Generic, TypeVar

from kohort.coordinator.modern.modern_group import ModernGroup
from kohort.coordinator.modern.modern_member import ModernMember
from kohort.purgatory import DelayedOperation

G = TypeVar("G", bound=ModernGroup)
M = TypeVar("M", bound=ModernMember)

FENCE_RETRY_MS = 500  # delay before a member is fenced again if its removal could not be written

Expired = Callable[[G, M, int], None]  # called with the current time when a timer of a member expires


class Timer(DelayedOperation, Generic[G, M]):
    """Calls `expire` for a member unless it is canceled first."""

    __slots__ = ("expire", "group", "member")

    def __init__(self, deadline_ms: int, group: G, member: M, expire: Expired[G, M]) -> None:
        super().__init__(deadline_ms)
        self.group = group
        self.member = member
        self.expire = expire

    def on_complete(self, now_ms: int, *, expired: bool) -> None:
        if self.group.members.get(self.member.member_id) is self.member:
            self.expire(self.group, self.member, now_ms)


def extend_session(group: G, member: M, timeout_ms: int, now_ms: int, expire: Expired[G, M]) -> None:
    """Restart the session timeout of a member.

    A later deadline costs nothing: the wheel keeps the old one and notices the change when it comes up.
    """
    deadline_ms, session = now_ms + timeout_ms, member.session
    if session is None or session.completed:
        member.session = session = Timer(deadline_ms, group, member, expire)
        group.coordinator.purgatory.wait(session)
    elif deadline_ms >= session.deadline_ms:
        session.deadline_ms = deadline_ms
    else:
        group.coordinator.purgatory.postpone(session, deadline_ms)


def start(group: G, member: M, timeout_ms: int, now_ms: int, expire: Expired[G, M]) -> Timer[G, M]:
    timer = Timer(now_ms + max(timeout_ms, 0), group, member, expire)
    group.coordinator.purgatory.wait(timer)
    return timer


def stop(group: ModernGroup, timer: DelayedOperation | None) -> None:
    if timer is not None and not timer.completed:
        group.coordinator.purgatory.cancel(timer)


def stop_all(group: ModernGroup, member: ModernMember) -> None:
    for timer in member.take_timers():
        stop(group, timer)


def resume_sessions(
    group: G, old_members: Mapping[str, ModernMember], keep_alive: Callable[[G, Any, int], None], now_ms: int
) -> None:
    """Restore the timers after changes were undone.

    Restored members get a session, and removed members lose their timers.

    Args:
        old_members: Members before the changes were undone.
    """
    for member_id, member in old_members.items():
        if group.members.get(member_id) is not member:
            stop_all(group, member)
    for member in group.members.values():
        if not group.is_there:
            stop_all(group, member)
        elif member.session is None or member.session.completed:
            keep_alive(group, member, now_ms)
