"""The target assignment: what each member is to have (consumer-groups §10)."""

from collections.abc import Collection
from uuid import UUID

from kohort.coordinator.consumer.assignors import ASSIGNORS
from kohort.coordinator.consumer.assignors.subscriber import Subscriber
from kohort.coordinator.consumer.consumer_group import ConsumerGroup
from kohort.coordinator.consumer.consumer_member import FIRST
from kohort.coordinator.consumer.java_order import hash_of_id, in_map_order, in_table_order
from kohort.coordinator.consumer.request_changes import Changes
from kohort.coordinator.consumer.values import Kind, MemberMetadata, TargetEpoch
from kohort.coordinator.group_placement import java_hash


def may_compute(group: ConsumerGroup, wall_ms: int) -> bool:
    """Whether a target is due, and the last one is not too young (KIP-1263)."""
    if group.target_epoch >= group.epoch:
        return False
    interval_ms = group.coordinator.consumer_config(group.group_id).assignment_interval_ms
    return not (group.target_timestamp_ms and interval_ms) or wall_ms >= group.target_timestamp_ms + interval_ms


def compute(group: ConsumerGroup, changes: Changes, wall_ms: int, *, homogeneous: bool, own_vote: str | None) -> None:
    """Computes the target for the group's epoch, and notes it for the members whose share changes.

    `homogeneous`: whether all members count as subscribed to the same topics. `own_vote`: the assignor that
    the member wants whose request it is.
    """
    observer = group.coordinator.consumer_observer
    began_us = observer.measured_from_us()
    counts: dict[UUID, int] = {}
    known: dict[tuple[Collection[str], str], frozenset[UUID]] = {}
    members = []
    for member_id in _in_order(group):
        metadata = group.members[member_id].metadata
        subscription = metadata.topic_names, metadata.topic_regex
        topics = known.get(subscription)
        if topics is None:  # most members subscribe to what another one does
            topics = known[subscription] = topic_ids(group, metadata, counts)
        instance_id = metadata.instance_id
        members.append(Subscriber(member_id, instance_id, topics, group.target_of(member_id)))
    assign = ASSIGNORS[preferred_assignor(group, own_vote)]
    ordered = {topic_id: counts[topic_id] for topic_id in in_map_order(sorted(counts), hash_of_id)}
    targets = assign(members, ordered, homogeneous) if members else {}
    for each in members:
        target = targets.get(each.member_id, {})
        if target != group.targets.get(each.member_id):
            changes.make(Kind.TARGET, each.member_id, target)
    changes.make(Kind.TARGET_EPOCH, None, TargetEpoch(group.epoch, wall_ms))
    changes.assignor_us = observer.measured_us(began_us)


def _in_order(group: ConsumerGroup) -> list[str]:
    """Members as Kafka's assignors get them. Who joins with this heartbeat is added last."""
    known = [name for name, member in group.members.items() if member.current is not FIRST]
    added = [name for name, member in group.members.items() if member.current is FIRST]
    return in_map_order([*in_table_order(known, java_hash), *added], java_hash)


def topic_ids(group: ConsumerGroup, metadata: MemberMetadata, counts: dict[UUID, int] | None = None) -> frozenset[UUID]:
    """The topics that a member subscribes to, as far as they exist. `counts` is given their numbers of partitions."""
    found = set()
    for name in group.names_of(metadata):
        topic = group.coordinator.topics.by_name(name)
        if topic is not None:
            found.add(topic.topic_id)
            if counts is not None:
                counts[topic.topic_id] = topic.partitions
    return frozenset(found)


def preferred_assignor(group: ConsumerGroup, own_vote: str | None = None) -> str:
    """The one that most members vote for; without a vote the first that is configured.

    Of several with as many votes Kafka takes the first in its map. Where a member's request computes a target, its vote
    is taken out of a copy and put in again, in front if nobody else has it.
    """
    votes = group.assignors
    if not votes:
        return group.coordinator.settings.group_consumer_assignors[0]
    ordered = in_table_order(sorted(votes), java_hash)
    ordered.sort(key=lambda name: name != own_vote or votes[name] > 1)
    return max(ordered, key=lambda name: votes[name])


def is_homogeneous(group: ConsumerGroup) -> bool:
    """Whether all members subscribe to the same topics, as Kafka judges it."""
    count = len(group.members)
    if not group.regex_counts:
        return all(subscribers == count for subscribers in group.names.values())
    return len(group.regex_counts) == 1 and group.regex_counts.total() == count and not group.names
