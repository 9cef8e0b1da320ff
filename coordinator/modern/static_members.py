"""Resolution of a request's sender: a member, a new member, or a returning static member (consumer-groups §7)."""

from base64 import urlsafe_b64encode
from typing import Any
from uuid import UUID

from kohort.coordinator.context import OnWritten
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
from kohort.coordinator.modern.session_timers import cause_of, forget, stop_all, watch_revocation


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


def leave_temporarily(group: ModernGroup, member: Any, now_ms: int, on_written: OnWritten) -> None:
    """Let a static member leave: it keeps its assignment until it returns or its session expires."""
    changes = GroupChanges(group)
    changes.make(group.kinds.CURRENT, member.member_id, member.suspended())
    watch_revocation(group, member, now_ms)
    changes.write(now_ms, cause_of(member, "leave_explicit"), on_written)


def new_member_id(host: GroupHost) -> str:
    """Return a new ID in Kafka's format: 22 characters, without a leading dash."""
    while True:
        member_id = urlsafe_b64encode(UUID(host.new_uuid()).bytes).decode().rstrip("=")
        if not member_id.startswith("-"):
            return member_id
