"""Target assignment of a share group (share-groups §3.3, §5)."""

from typing import Final, NamedTuple
from uuid import UUID

from kohort.coordinator.groups.group_placement import java_hash
from kohort.coordinator.java_order import in_map_order
from kohort.coordinator.modern.group_changes import GroupChanges
from kohort.coordinator.modern.modern_group import hash_of_member
from kohort.coordinator.modern.modern_values import Target
from kohort.coordinator.modern.preparing import Assigning, targets_of
from kohort.coordinator.share.share_group import ShareGroup
from kohort.coordinator.share.share_member import ShareMember
from kohort.coordinator.share.share_values import ShareAssignment, ShareMetadata
from kohort.coordinator.share.simple_assignor import EFFORT, Subscriber, assigning
from kohort.coordinator.share.state_partitions import StatePartitions

NAMES_AT_ONCE: Final = 256  # topics of a subscription that are looked up between two yields


class Inputs(NamedTuple):
    """Values that determine a target. Equal ones are usually the same objects, so that comparing them is fast."""

    topics_version: int
    states: StatePartitions
    # id, metadata and previous target, in the order of Kafka's assignors
    members: list[tuple[str, ShareMetadata, Target]]
    homogeneous: bool


def compute(group: ShareGroup, changes: GroupChanges, now_ms: int) -> None:
    """Compute the target for the group's epoch and update the members whose target changes.

    A computation that takes long continues in the background; see modern/preparing.py. Until it ends, the target stays
    due.
    """
    homogeneous = all(count == len(group.members) for count in group.names.values())
    members = [(member.member_id, member.metadata, group.target_of(member.member_id)) for member in _in_order(group)]
    inputs = Inputs(group.coordinator.topics.version, group.states, members, homogeneous)
    targets = targets_of(group, inputs, _assigning(group, inputs), now_ms)
    if targets is not None:
        changes.set_targets(targets, now_ms)


def _assigning(group: ShareGroup, inputs: Inputs) -> Assigning:
    by_name = group.coordinator.topics.by_name
    subscriptions: dict[tuple[str, ...], frozenset[UUID]] = {}
    members: list[Subscriber] = []
    ready: dict[UUID, frozenset[int]] = {}
    for member_id, metadata, target in inputs.members:
        names = metadata.topic_names
        topic_ids = subscriptions.get(names)
        if topic_ids is None:
            ids: dict[str, UUID] = {}
            hashes: dict[str, int] = {}
            for start in range(0, len(names), NAMES_AT_ONCE):
                chunk = names[start : start + NAMES_AT_ONCE]
                ids.update((topic.name, topic.topic_id) for topic in map(by_name, chunk) if topic is not None)
                hashes.update((name, java_hash(name)) for name in chunk)
                yield 2 * EFFORT * len(chunk)
            topic_ids = subscriptions[names] = frozenset(ids.values())
            for name in in_map_order(names, hashes.__getitem__):
                if name in ids:
                    ready[ids[name]] = inputs.states.ready(ids[name])
            yield EFFORT * len(names)
        members.append(Subscriber(member_id, topic_ids, target))
    return (yield from assigning(members, ready, homogeneous=inputs.homogeneous))


def _in_order(group: ShareGroup) -> list[ShareMember]:
    """Return the members in the order of Kafka's assignor, which decides between equally good ones.

    Unlike in groups of other types, a member that joins with this heartbeat is in Kafka's map already (seen in 4.3.0).
    """
    return in_map_order(group.members_in_table_order(), hash_of_member)


def topic_ids(group: ShareGroup, member: ShareMember) -> frozenset[UUID]:
    topics = map(group.coordinator.topics.by_name, member.metadata.topic_names)
    return frozenset(topic.topic_id for topic in topics if topic is not None)


def next_assignment(group: ShareGroup, member: ShareMember, *, bumped: bool) -> ShareAssignment:
    """Return the target of a member, or its current assignment: members of share groups have nothing to revoke first.

    Args:
        bumped: Whether this heartbeat gave the group a new epoch. If so, a member that has reached the target is
            updated too.
    """
    current = member.current
    if current.epoch != group.target_epoch:
        assigned = _subscribed_of(group, member, group.target_of(member.member_id))
        return ShareAssignment(group.target_epoch, current.epoch, assigned=assigned)
    return current._replace(assigned=_subscribed_of(group, member, current.assigned)) if bumped else current


def _subscribed_of(group: ShareGroup, member: ShareMember, target: Target) -> Target:
    subscribed_ids = topic_ids(group, member)
    return {topic_id: partitions for topic_id, partitions in target.items() if topic_id in subscribed_ids}
