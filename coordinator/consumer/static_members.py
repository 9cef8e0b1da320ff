"""Resolution of a heartbeat's sender: a member, a new member, or a returning static member (consumer-groups §7)."""

from base64 import urlsafe_b64encode
from typing import NamedTuple
from uuid import UUID

from kohort.coordinator.consumer.consumer_group import ConsumerGroup
from kohort.coordinator.consumer.consumer_host import ConsumerHost
from kohort.coordinator.consumer.consumer_leaving import forget
from kohort.coordinator.consumer.consumer_member import ConsumerMember
from kohort.coordinator.consumer.request_changes import ChangeSet
from kohort.coordinator.consumer.values import STEPPING_OUT_EPOCH, CurrentAssignment, Kind, MemberMetadata
from kohort.coordinator.modern.group_refusals import Refusal, unreleased_instance
from kohort.coordinator.modern.instances import find_member


class Identity(NamedTuple):
    """Member ID and previous metadata of a sender. A new member is not in the group yet."""

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
) -> Identity | Refusal:
    """Resolve the sender of a heartbeat, or (`classic`) of a JoinGroup, which has epoch 0.

    A static member that left temporarily or used the other protocol is replaced by the sender with its instance ID.
    """
    if epoch:
        sender = find_member(group, member_id, instance_id)
        return sender if isinstance(sender, Refusal) else Identity(member_id, sender.metadata)
    holder = None if instance_id is None else group.member_of_instance(instance_id)
    if instance_id is None or holder is None:
        member = group.members.get(member_id)  # a member keeps its ID when it gets an instance ID
        metadata = MemberMetadata(instance_id=instance_id) if member is None else member.metadata
        return Identity(member_id or new_member_id(group.coordinator), metadata)
    if not classic and not holder.is_classic and holder.current.epoch != STEPPING_OUT_EPOCH:
        return unreleased_instance(member_id, instance_id, holder.member_id)
    return replace_member(group, changes, holder, member_id or new_member_id(group.coordinator))


def replace_member(group: ConsumerGroup, changes: ChangeSet, old: ConsumerMember, member_id: str) -> Identity:
    """Transfer the state of a static member to a new member ID."""
    metadata, target, current = old.metadata, group.target_of(old.member_id), old.current
    forget(old.member_id, changes)
    changes.make(Kind.MEMBER, member_id, metadata)
    changes.make(Kind.TARGET, member_id, target)
    assigned = {topic_id: dict.fromkeys(partitions, 0) for topic_id, partitions in current.assigned.items()}
    transferred = CurrentAssignment(state=current.state, assigned=assigned, revoking=current.revoking)
    changes.make(Kind.CURRENT, member_id, transferred)
    return Identity(member_id, metadata)


def new_member_id(host: ConsumerHost) -> str:
    """Return a new ID in Kafka's format: 22 characters, without a leading dash."""
    while True:
        member_id = urlsafe_b64encode(UUID(host.new_uuid()).bytes).decode().rstrip("=")
        if not member_id.startswith("-"):
            return member_id
