"""The target assignment of a share group: what each member is to fetch from (share-groups §3.3, §5)."""

from uuid import UUID

from kohort.coordinator.java_order import in_map_order, in_table_order
from kohort.coordinator.modern.group_changes import GroupChanges
from kohort.coordinator.modern.group_epochs import is_target_due
from kohort.coordinator.modern.modern_values import Target, TargetEpoch
from kohort.coordinator.share.share_group import ShareGroup
from kohort.coordinator.share.share_member import ShareMember
from kohort.coordinator.share.share_values import ShareAssignment, ShareKind
from kohort.coordinator.share.simple_assignor import Subscriber, assign


def may_compute(group: ShareGroup, wall_ms: int) -> bool:
    """Whether a target is due, and the last one is not too young (KIP-1263)."""
    return is_target_due(group, group.coordinator.share_config(group.group_id).assignment_interval_ms, wall_ms)


def compute(group: ShareGroup, changes: GroupChanges, now_ms: int) -> None:
    """Computes the target for the group's epoch, and notes it for the members whose share changes."""
    members = [
        Subscriber(member.member_id, topic_ids(group, member), group.target_of(member.member_id))
        for member in _in_order(group)
    ]
    subscribed = {topic_id for member in members for topic_id in member.topics}
    homogeneous = all(count == len(members) for count in group.names.values())
    ready = {topic_id: group.states.ready(topic_id) for topic_id in subscribed}
    targets = assign(members, ready, homogeneous=homogeneous)
    for member_id, target in targets.items():
        if target != group.targets.get(member_id):
            changes.make(ShareKind.TARGET, member_id, target)
    changes.make(ShareKind.TARGET_EPOCH, None, TargetEpoch(group.epoch, group.coordinator.wall_ms(now_ms)))


def _in_order(group: ShareGroup) -> list[ShareMember]:
    """Members as Kafka's assignor gets them: it decides between members that are equally good by that.

    Who joins with this heartbeat is in Kafka's table already, unlike in groups of the other kinds (seen in 4.3.0).
    """
    return in_map_order(in_table_order(group.members.values(), _hash_of, group.most_members), _hash_of)


def _hash_of(member: ShareMember) -> int:
    return member.java_hash


def topic_ids(group: ShareGroup, member: ShareMember) -> frozenset[UUID]:
    """The topics that a member subscribes to, as far as they exist."""
    topics = map(group.coordinator.topics.by_name, member.metadata.topic_names)
    return frozenset(topic.topic_id for topic in topics if topic is not None)


def advance_member(group: ShareGroup, member: ShareMember, changes: GroupChanges, *, bumped: bool) -> None:
    """Gives a member what the target says, at once: nobody has to give up anything first.

    A member that has reached the target is looked at again if the group has got another epoch with this heartbeat.
    """
    current = member.current
    if current.epoch != group.target_epoch:
        assigned = _subscribed_of(group, member, group.target_of(member.member_id))
        following = ShareAssignment(group.target_epoch, current.epoch, assigned=assigned)
    elif bumped:
        following = current._replace(assigned=_subscribed_of(group, member, current.assigned))
    else:
        return
    if following != current:
        changes.make(ShareKind.CURRENT, member.member_id, following)


def _subscribed_of(group: ShareGroup, member: ShareMember, target: Target) -> Target:
    """The part of a target whose topics a member subscribes to now."""
    wanted = topic_ids(group, member)
    return {topic_id: partitions for topic_id, partitions in target.items() if topic_id in wanted}
