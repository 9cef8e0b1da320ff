"""Who sends a heartbeat: a member, a newcomer, or a static member that is back under a new id (consumer-groups §7)."""

from base64 import urlsafe_b64encode
from typing import NamedTuple
from uuid import UUID

from kohort.coordinator.consumer.consumer_group import ConsumerGroup
from kohort.coordinator.consumer.consumer_host import ConsumerHost
from kohort.coordinator.consumer.consumer_leaving import forget
from kohort.coordinator.consumer.consumer_member import ConsumerMember
from kohort.coordinator.consumer.refusing import fenced_instance, unknown_instance, unreleased_instance
from kohort.coordinator.consumer.request_changes import ChangeSet
from kohort.coordinator.consumer.values import STEPPING_OUT_EPOCH, CurrentAssignment, Kind, MemberMetadata
from kohort.coordinator.modern.group_refusals import Refusal, unknown_member


class Found(NamedTuple):
    """A member by its id, and what it has said of itself until now. Newcomers are not in the group yet."""

    member_id: str
    metadata: MemberMetadata


def find_or_replace(
    group: ConsumerGroup,
    changes: ChangeSet,
    member_id: str,
    epoch: int,
    instance_id: str | None,
    *,
    classic: bool = False,
) -> Found | Refusal:
    """Who sends a heartbeat with this id and epoch, or (`classic`) a JoinGroup, which has epoch 0.

    A static member that stepped out, or spoke the other protocol, is replaced by who comes under its name.
    """
    if instance_id is None:
        return _dynamic(group, member_id, epoch)
    holder = group.member_of_instance(instance_id)
    if epoch:
        if holder is None:
            return unknown_instance(instance_id)
        if holder.member_id != member_id:
            return fenced_instance(member_id, instance_id, holder.member_id)
        return Found(member_id, holder.metadata)
    if holder is None:
        known = group.members.get(member_id)  # a member that takes a name stays the member it is
        metadata = MemberMetadata(instance_id=instance_id) if known is None else known.metadata
        return Found(member_id or new_member_id(group.coordinator), metadata)
    if not classic and not holder.is_classic and holder.current.epoch != STEPPING_OUT_EPOCH:
        return unreleased_instance(member_id, instance_id, holder.member_id)
    return replace_member(group, changes, holder, member_id or new_member_id(group.coordinator))


def _dynamic(group: ConsumerGroup, member_id: str, epoch: int) -> Found | Refusal:
    member = group.members.get(member_id)
    if member is not None:
        return Found(member_id, member.metadata)
    if epoch:
        return unknown_member(member_id, group.group_id)
    return Found(member_id or new_member_id(group.coordinator), MemberMetadata())


def replace_member(group: ConsumerGroup, changes: ChangeSet, old: ConsumerMember, member_id: str) -> Found:
    """Gives the place of a static member to another member id, with all that belongs to it."""
    metadata, target, current = old.metadata, group.target_of(old.member_id), old.current
    forget(old.member_id, changes)
    changes.make(Kind.MEMBER, member_id, metadata)
    changes.make(Kind.TARGET, member_id, target)
    assigned = {topic_id: dict.fromkeys(partitions, 0) for topic_id, partitions in current.assigned.items()}
    taken_over = CurrentAssignment(state=current.state, assigned=assigned, revoking=current.revoking)
    changes.make(Kind.CURRENT, member_id, taken_over)
    return Found(member_id, metadata)


def new_member_id(host: ConsumerHost) -> str:
    """A member id as Kafka makes them: 22 characters, the first one no dash."""
    while True:
        made = urlsafe_b64encode(UUID(host.new_uuid()).bytes).decode().rstrip("=")
        if not made.startswith("-"):
            return made
