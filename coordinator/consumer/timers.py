"""Timers of a consumer group's members (consumer-groups §9)."""

from collections.abc import Callable

from kohort.coordinator.consumer.consumer_group import ConsumerGroup
from kohort.coordinator.consumer.consumer_member import ConsumerMember
from kohort.purgatory import DelayedOperation

Expired = Callable[[ConsumerGroup, ConsumerMember, int], None]
"""What happens when the time of a member is up; with the time."""


class Timer(DelayedOperation):
    """Does something to a member unless it is taken away before."""

    __slots__ = ("expire", "group", "member")

    def __init__(self, deadline_ms: int, group: ConsumerGroup, member: ConsumerMember, expire: Expired) -> None:
        super().__init__(deadline_ms)
        self.group = group
        self.member = member
        self.expire = expire

    def on_complete(self, now_ms: int, *, expired: bool) -> None:
        """Always by its deadline. A member that is gone meanwhile is left alone."""
        if self.group.members.get(self.member.member_id) is self.member:
            self.expire(self.group, self.member, now_ms)


def extend_session(group: ConsumerGroup, member: ConsumerMember, timeout_ms: int, now_ms: int, expire: Expired) -> None:
    """Gives a member its session timeout from now on. A later deadline costs nothing: the wheel finds out."""
    deadline_ms, session = now_ms + timeout_ms, member.session
    if session is None or session.completed:
        member.session = session = Timer(deadline_ms, group, member, expire)
        group.coordinator.purgatory.wait(session)
    elif deadline_ms >= session.deadline_ms:
        session.deadline_ms = deadline_ms
    else:
        group.coordinator.purgatory.postpone(session, deadline_ms)


def start(group: ConsumerGroup, member: ConsumerMember, timeout_ms: int, now_ms: int, expire: Expired) -> Timer:
    """A timer that waits from now on."""
    timer = Timer(now_ms + max(timeout_ms, 0), group, member, expire)
    group.coordinator.purgatory.wait(timer)
    return timer


def stop(group: ConsumerGroup, timer: DelayedOperation | None) -> None:
    """Takes a timer away, if there is one."""
    if timer is not None and not timer.completed:
        group.coordinator.purgatory.cancel(timer)


def stop_all(group: ConsumerGroup, member: ConsumerMember) -> None:
    """Takes all timers of a member away."""
    for timer in (member.session, member.revocation, member.join_timer, member.sync_timer):
        stop(group, timer)
    member.session = member.revocation = member.join_timer = member.sync_timer = None
