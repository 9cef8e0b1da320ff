"""Lookup of the member that sends a heartbeat with an epoch (consumer-groups §7, newer-release §5 rule 3)."""

from typing import Protocol, TypeVar

from kohort.coordinator.modern.group_refusals import Refusal, fenced_instance, unknown_instance, unknown_member
from kohort.coordinator.modern.modern_member import ModernMember

MemberT = TypeVar("MemberT", bound=ModernMember)


class GroupWithInstances(Protocol[MemberT]):
    """Group that supports static members."""

    group_id: str
    members: dict[str, MemberT]

    def member_of_instance(self, instance_id: str) -> MemberT | None: ...


def find_member(group: GroupWithInstances[MemberT], member_id: str, instance_id: str | None) -> MemberT | Refusal:
    """Return the member. Its epoch is not checked. Errors: UNKNOWN_MEMBER_ID, FENCED_INSTANCE_ID."""
    if instance_id is None:
        return group.members.get(member_id) or unknown_member(member_id, group.group_id)
    holder = group.member_of_instance(instance_id)
    if holder is None:
        return unknown_instance(instance_id)
    return holder if holder.member_id == member_id else fenced_instance(member_id, instance_id, holder.member_id)
