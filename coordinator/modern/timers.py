"""Timers of members of groups of the newer protocols (consumer-groups §9)."""

from collections.abc import Callable, Mapping
from typing import Any, Generic, TypeVar

from kohort.coordinator.modern.modern_group import ModernGroup
from kohort.coordinator.modern.modern_member import ModernMember
from kohort.purgatory import DelayedOperation

G = TypeVar("G", bound=ModernGroup)
M = TypeVar("M", bound=ModernMember)

FENCE_AGAIN_AFTER_MS = 500
"""How long to wait before a member is put out whose end could not be written."""

Expired = Callable[[G, M, int], None]
"""What happens when the time of a member is up; with the time."""


class Timer(DelayedOperation, Generic[G, M]):
    """Does something to a member unless it is taken away before."""

    __slots__ = ("expire", "group", "member")

    def __init__(self, deadline_ms: int, group: G, member: M, expire: Expired[G, M]) -> None:
        super().__init__(deadline_ms)
        self.group = group
        self.member = member
        self.expire = expire

    def on_complete(self, now_ms: int, *, expired: bool) -> None:
        """Always by its deadline. A member that is gone meanwhile is left alone."""
        if self.group.members.get(self.member.member_id) is self.member:
            self.expire(self.group, self.member, now_ms)


def extend_session(group: G, member: M, timeout_ms: int, now_ms: int, expire: Expired[G, M]) -> None:
    """Gives a member its session timeout from now on. A later deadline costs nothing: the wheel finds out."""
    deadline_ms, session = now_ms + timeout_ms, member.session
    if session is None or session.completed:
        member.session = session = Timer(deadline_ms, group, member, expire)
        group.coordinator.purgatory.wait(session)
    elif deadline_ms >= session.deadline_ms:
        session.deadline_ms = deadline_ms
    else:
        group.coordinator.purgatory.postpone(session, deadline_ms)


def start(group: G, member: M, timeout_ms: int, now_ms: int, expire: Expired[G, M]) -> Timer[G, M]:
    """A timer that waits from now on."""
    timer = Timer(now_ms + max(timeout_ms, 0), group, member, expire)
    group.coordinator.purgatory.wait(timer)
    return timer


def stop(group: ModernGroup, timer: DelayedOperation | None) -> None:
    """Takes a timer away, if there is one."""
    if timer is not None and not timer.completed:
        group.coordinator.purgatory.cancel(timer)


def stop_all(group: ModernGroup, member: ModernMember) -> None:
    """Takes all timers of a member away."""
    for timer in member.take_timers():
        stop(group, timer)


def resume_sessions(
    group: G, before: Mapping[str, ModernMember], keep_alive: Callable[[G, Any, int], None], now_ms: int
) -> None:
    """Changes were taken back: members that are back have a session again, and members that are gone have no timers.

    before: those there were until then.
    """
    for member_id, member in before.items():
        if group.members.get(member_id) is not member:
            stop_all(group, member)
    for member in group.members.values():
        if not group.is_there:
            stop_all(group, member)
        elif member.session is None or member.session.completed:
            keep_alive(group, member, now_ms)
