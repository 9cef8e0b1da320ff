"""Computation of the target assignment (consumer-groups §10)."""

from functools import lru_cache
from operator import attrgetter
from typing import Final, NamedTuple
from uuid import UUID

from kohort.coordinator.consumer.assignors import ASSIGNORS
from kohort.coordinator.consumer.assignors.subscriber import Subscriber
from kohort.coordinator.consumer.consumer_group import ConsumerGroup
from kohort.coordinator.groups.group_placement import java_hash
from kohort.coordinator.java_order import hash_of_id, in_copied_set_order
from kohort.coordinator.modern.group_changes import GroupChanges
from kohort.coordinator.modern.modern_values import Target
from kohort.coordinator.modern.preparing import targets_of
from kohort.coordinator.topic_info import TopicInfo

_NAME: Final = attrgetter("name")


class Inputs(NamedTuple):
    """Inputs of a target assignment."""

    assignor: str
    members: list[Subscriber]  # in Kafka's order
    counts: dict[UUID, int]  # number of partitions by topic, in Kafka's order
    homogeneous: bool  # whether all members subscribe to the same topics


def compute(
    group: ConsumerGroup, changes: GroupChanges, now_ms: int, *, homogeneous: bool, own_vote: str | None
) -> None:
    """Compute the target for the group epoch and add a change for each member whose target changes.

    If that takes long, the target stays due and is computed in the background; see preparing.py.

    Args:
        homogeneous: Whether all members count as subscribed to the same topics.
        own_vote: The assignor that the sender of the request prefers.
    """
    observer = group.coordinator.observer
    began_us = observer.measured_from_us()
    preparation = group.preparation
    targets: dict[str, Target] | None = {}
    if group.members:
        assignor = group.preferred_assignor(own_vote)
        inputs = Inputs(assignor, group.subscribers.in_order(group), _counts(group), homogeneous)
        steps = ASSIGNORS[assignor](inputs.members, inputs.counts, homogeneous)
        targets = targets_of(group, inputs, steps, now_ms)
    if targets is None:
        return
    changes.set_targets(targets, now_ms)
    changes.assignor_us = observer.measured_us(began_us)
    if preparation is not None and preparation.targets is targets:
        changes.assignor_us += preparation.spent_us


def _counts(group: ConsumerGroup) -> dict[UUID, int]:
    """Return the number of partitions of each topic that members subscribe to, in Kafka's order."""
    names = set(group.names)
    for regex in group.regex_counts:
        resolved = group.regexes.get(regex)
        if resolved is not None:
            names.update(resolved.topics)
    topics = [topic for topic in map(group.coordinator.topics.by_name, names) if topic is not None]
    if len(topics) > 1:
        topics.sort(key=_NAME)
        topics = in_copied_set_order(in_copied_set_order(topics, _hash_of_name), _hash_of_id)
    return {topic.topic_id: topic.partitions for topic in topics}


def _hash_of_id(topic: TopicInfo) -> int:
    return hash_of_id(topic.topic_id)


def _hash_of_name(topic: TopicInfo) -> int:
    return _java_hash(topic.name)


_java_hash = lru_cache(maxsize=1024)(java_hash)


def changes_assignor(group: ConsumerGroup, own_vote: str | None) -> bool:
    """Return whether a heartbeat of a member raises the group epoch although no vote has changed.

    Kafka 4.4 compares the assignor of the group with the one for a target in the member's heartbeat. In a tie these
    differ for the only voter of an assignor, and each of its heartbeats raises the epoch.
    """
    if not group.coordinator.settings.rules.bumps_epoch_for_assignors:
        return False
    return group.preferred_assignor(own_vote) != group.assignor_name


def is_homogeneous(group: ConsumerGroup) -> bool:
    """Return whether all members subscribe to the same topics by Kafka's rules."""
    count = len(group.members)
    if not group.regex_counts:
        return all(subscribers == count for subscribers in group.names.values())
    return len(group.regex_counts) == 1 and group.regex_counts.total() == count and not group.names
