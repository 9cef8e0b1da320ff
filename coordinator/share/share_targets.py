"""The target assignment of a share group: what each member is to fetch from (share-groups §3.3, §5)."""

from typing import Final, NamedTuple
from uuid import UUID

from kohort.coordinator.java_order import in_map_order, in_table_order
from kohort.coordinator.modern.group_changes import GroupChanges
from kohort.coordinator.modern.group_epochs import is_target_due
from kohort.coordinator.modern.modern_values import Target, TargetEpoch
from kohort.coordinator.modern.preparing import Assigning, targets_of
from kohort.coordinator.share.share_group import ShareGroup
from kohort.coordinator.share.share_member import ShareMember
from kohort.coordinator.share.share_values import ShareAssignment, ShareKind, ShareMetadata
from kohort.coordinator.share.simple_assignor import EFFORT, Subscriber, assigning
from kohort.coordinator.share.state_partitions import StatePartitions

NAMES_AT_ONCE: Final = 256
"""Topics of a subscription that are looked up between two yields."""


def may_compute(group: ShareGroup, wall_ms: int) -> bool:
    """Whether a target is due, and the last one is not too young (KIP-1263)."""
    return is_target_due(group, group.coordinator.share_config(group.group_id).assignment_interval_ms, wall_ms)


class Inputs(NamedTuple):
    """What a target follows from. Equal ones are mostly the same objects, which makes comparing them quick."""

    topics_version: int
    states: StatePartitions
    members: list[tuple[str, ShareMetadata, Target]]
    """In the order of Kafka's assignors: id, metadata, and the target until now."""
    homogeneous: bool


def compute(group: ShareGroup, changes: GroupChanges, now_ms: int) -> None:
    """Compute the target for the group's epoch, and note it for the members whose assignment changes.

    It stays due where that takes long; see modern/preparing.py.
    """
    homogeneous = all(count == len(group.members) for count in group.names.values())
    members = [(each.member_id, each.metadata, group.target_of(each.member_id)) for each in _in_order(group)]
    inputs = Inputs(group.coordinator.topics.version, group.states, members, homogeneous)
    targets = targets_of(group, inputs, _assigning(group, inputs), now_ms)
    if targets is None:
        return
    for member_id, target in targets.items():
        if target != group.targets.get(member_id):
            changes.make(ShareKind.TARGET, member_id, target)
    changes.make(ShareKind.TARGET_EPOCH, None, TargetEpoch(group.epoch, group.coordinator.wall_ms(now_ms)))


def _assigning(group: ShareGroup, inputs: Inputs) -> Assigning:
    by_name = group.coordinator.topics.by_name
    subscriptions: dict[tuple[str, ...], frozenset[UUID]] = {}
    members: list[Subscriber] = []
    ready: dict[UUID, frozenset[int]] = {}
    for member_id, metadata, target in inputs.members:
        names = metadata.topic_names
        topic_ids = subscriptions.get(names)
        if topic_ids is None:
            found: list[UUID] = []
            for start in range(0, len(names), NAMES_AT_ONCE):
                some = names[start : start + NAMES_AT_ONCE]
                found += [topic.topic_id for topic in map(by_name, some) if topic is not None]
                yield EFFORT * len(some)
            topic_ids = subscriptions[names] = frozenset(found)
            ready.update((topic_id, inputs.states.ready(topic_id)) for topic_id in found)
            yield EFFORT * len(found)
        members.append(Subscriber(member_id, topic_ids, target))
    return (yield from assigning(members, ready, homogeneous=inputs.homogeneous))


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
