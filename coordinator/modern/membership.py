"""Members of a group: their arrival, sessions and other timers, and departure.

Source: consumer-groups §6, §7, §9; streams-groups §9, §11.
"""

from base64 import urlsafe_b64encode
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final
from uuid import UUID

from kohort.coordinator.context import OnWritten
from kohort.coordinator.effects import Cause
from kohort.coordinator.groups.group_host import GroupHost
from kohort.coordinator.modern.group_changes import GroupChanges
from kohort.coordinator.modern.group_refusals import (
    fenced_instance,
    unknown_instance,
    unknown_member,
    unreleased_instance,
)
from kohort.coordinator.modern.modern_group import ModernGroup
from kohort.coordinator.modern.modern_values import STATIC_LEAVING_EPOCH
from kohort.protocol.errors import ErrorCode
from kohort.purgatory import DelayedOperation

FENCE_RETRY_MS: Final = 500  # delay before a member is fenced again if its removal could not be written

# Called with a group, its member and the current time when a timer expires.
Expired = Callable[[Any, Any, int], None]

# Arrival


def find_member(group: ModernGroup, member_id: str, instance_id: str | None) -> Any:
    """Return the member that sends a request with an epoch, which is not checked.

    Otherwise return a `Refusal`: UNKNOWN_MEMBER_ID or FENCED_INSTANCE_ID.
    """
    if instance_id is None:
        return group.members.get(member_id) or unknown_member(member_id, group.group_id)
    holder = group.member_of_instance(instance_id)
    if holder is None:
        return unknown_instance(instance_id)
    return holder if holder.member_id == member_id else fenced_instance(member_id, instance_id, holder.member_id)


def find_or_replace(
    group: ModernGroup,
    changes: GroupChanges,
    member_id: str,
    epoch: int,
    instance_id: str | None,
    *,
    is_classic: bool = False,
) -> Any:
    """Return the sender of a heartbeat or (`is_classic`) of a JoinGroup, which has epoch 0, or None if it is new.

    A static member that left temporarily or used the other protocol is replaced by the sender with its instance ID.
    Otherwise return a `Refusal`: UNKNOWN_MEMBER_ID, FENCED_INSTANCE_ID or UNRELEASED_INSTANCE_ID.
    """
    if epoch:
        return find_member(group, member_id, instance_id)
    holder = None if instance_id is None else group.member_of_instance(instance_id)
    if instance_id is None or holder is None:
        return group.members.get(member_id)  # a member keeps its ID when it gets an instance ID
    if not is_classic and not holder.is_classic and holder.current.epoch != STATIC_LEAVING_EPOCH:
        return unreleased_instance(member_id, instance_id, holder.member_id)
    return replace_member(group, changes, holder, member_id or new_member_id(group.coordinator))


def replace_member(group: ModernGroup, changes: GroupChanges, old_member: Any, member_id: str) -> Any:
    """Give a new member the state of the static member that it replaces, and return it."""
    metadata, target, transferred = old_member.metadata, group.target_of(old_member.member_id), old_member.transferred()
    stop_all(group, old_member)
    forget(old_member, changes)
    kinds = group.kinds
    changes.make(kinds.MEMBER, member_id, metadata)
    changes.make(kinds.TARGET, member_id, target)
    changes.make(kinds.CURRENT, member_id, transferred)
    return group.members[member_id]


def new_member_id(host: GroupHost) -> str:
    """Return a new ID in Kafka's format: 22 characters, without a leading dash."""
    while True:
        member_id = urlsafe_b64encode(UUID(host.new_uuid()).bytes).decode().rstrip("=")
        if not member_id.startswith("-"):
            return member_id


# Timers


class Timer(DelayedOperation):
    """Calls `expire` for a member unless it is canceled first."""

    __slots__ = ("expire", "group", "member")

    def __init__(self, deadline_ms: int, group: ModernGroup, member: Any, expire: Expired) -> None:
        super().__init__(deadline_ms)
        self.group = group
        self.member = member
        self.expire = expire

    def on_complete(self, now_ms: int, *, expired: bool) -> None:
        if self.group.members.get(self.member.member_id) is self.member:
            self.expire(self.group, self.member, now_ms)


def start(group: ModernGroup, member: Any, timeout_ms: int, now_ms: int, expire: Expired) -> Timer:
    timer = Timer(now_ms + max(timeout_ms, 0), group, member, expire)
    group.coordinator.purgatory.wait(timer)
    return timer


def stop(group: ModernGroup, timer: DelayedOperation | None) -> None:
    if timer is not None and not timer.completed:
        group.coordinator.purgatory.cancel(timer)


def stop_all(group: ModernGroup, member: Any) -> None:
    for timer in member.take_timers():
        stop(group, timer)


def keep_alive(group: ModernGroup, member: Any, now_ms: int) -> None:
    """Restart the session timeout of a member."""
    extend_session(group, member, group.session_timeout_of(member), now_ms)


def extend_session(group: ModernGroup, member: Any, timeout_ms: int, now_ms: int) -> None:
    """Restart the session timeout of a member.

    A later deadline costs nothing: the wheel keeps the old one and notices the change when it comes up.
    """
    deadline_ms, session = now_ms + timeout_ms, member.session
    if session is None or session.completed:
        member.session = session = Timer(deadline_ms, group, member, _session_expired)
        group.coordinator.purgatory.wait(session)
    elif deadline_ms >= session.deadline_ms:
        session.deadline_ms = deadline_ms
    else:
        group.coordinator.purgatory.postpone(session, deadline_ms)


def watch_revocation(group: ModernGroup, member: Any, now_ms: int) -> None:
    """Start the rebalance timeout of a member that has something to revoke, or stop it."""
    if member.revocation is not None:
        stop(group, member.revocation)
        member.revocation = None
    if member.must_revoke:
        epoch = member.current.epoch
        timeout_ms: int = member.metadata.rebalance_timeout_ms

        def expire_unless_advanced(group: ModernGroup, member: Any, now_ms: int) -> None:
            if member.current.epoch == epoch:
                expire_member(group, member, "epoch_timeout", now_ms)

        member.revocation = start(group, member, timeout_ms, now_ms, expire_unless_advanced)


def begin_timers(group: ModernGroup, now_ms: int) -> None:
    """Start the timers of a loaded group. Like in Kafka, the sessions of classic members have the group's timeout."""
    timeout_ms = group.config.session_timeout_ms
    for member in group.members.values():
        extend_session(group, member, timeout_ms, now_ms)
        watch_revocation(group, member, now_ms)


def resume_timers(group: ModernGroup, old_members: Mapping[str, Any], now_ms: int) -> None:
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
            continue
        if member.session is None or member.session.completed:
            keep_alive(group, member, now_ms)
        watch_revocation(group, member, now_ms)


def _session_expired(group: ModernGroup, member: Any, now_ms: int) -> None:
    expire_member(group, member, "session_expired", now_ms)


def expire_member(group: ModernGroup, member: Any, cause: str, now_ms: int) -> None:
    """Remove a member after a timeout; retry later if that cannot be written."""

    def written(error: ErrorCode, now_ms: int) -> None:
        restored = group.members.get(member.member_id) if group.is_there else None
        if error is not ErrorCode.none and restored is not None:
            stop(group, restored.session)
            restored.session = start(group, restored, FENCE_RETRY_MS, now_ms, _session_expired)

    remove_members(group, [member], cause_of(member, cause), now_ms, written)


# Departure


def remove_members(
    group: ModernGroup, members: Iterable[Any], cause: Cause, now_ms: int, on_written: OnWritten
) -> None:
    """Remove members. The next heartbeat of any member computes the new target.

    A consumer group that only has classic members left is converted to the classic protocol, if the policy allows it.
    """
    removed, changes = list(members), GroupChanges(group)
    if group.may_become_classic:
        coordinator = group.coordinator
        if coordinator.downgrade_if_classic(group, changes, cause, now_ms, on_written, removed):
            return
    take_out(group, removed, changes)
    changes.write(now_ms, cause, on_written)


def leave_temporarily(group: ModernGroup, member: Any, now_ms: int, on_written: OnWritten) -> None:
    """Let a static member leave: it keeps its assignment until it returns or its session expires."""
    changes = GroupChanges(group)
    changes.make(group.kinds.CURRENT, member.member_id, member.suspended())
    watch_revocation(group, member, now_ms)
    changes.write(now_ms, cause_of(member, "leave_explicit"), on_written)


def take_out(group: ModernGroup, members: Iterable[Any], changes: GroupChanges) -> None:
    """Add the records that remove members, and a new group epoch."""
    group.remember_topic_changes()
    for member in members:
        stop_all(group, member)
        forget(member, changes)
        for change in group.changes_without(member):
            changes.make(*change)
    changes.bump_after_removal()


def forget(member: Any, changes: GroupChanges) -> None:
    """Add the records that remove a member."""
    kinds = changes.group.kinds
    for kind in (kinds.CURRENT, kinds.TARGET, kinds.MEMBER):
        changes.make(kind, member.member_id, None)


def cause_of(member: Any, name: str) -> Cause:
    return Cause(name, member.member_id, member.metadata.client_id, member.metadata.client_host)
