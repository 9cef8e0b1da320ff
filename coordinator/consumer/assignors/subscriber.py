"""Shared parts of the assignors: members as they see them, and the subscribers of topics."""

from collections.abc import Collection, Generator, Sequence
from typing import NamedTuple
from uuid import UUID

from kohort.coordinator.modern.modern_values import Target

# A running assignor. It yields the effort since the last yield: a unit is a partition that was examined, about 0.1
# microseconds. It returns the target of each member by its ID, in the order of the members.
Assigning = Generator[int, None, dict[str, Target]]


class Subscriber(NamedTuple):
    """A member that receives partitions."""

    member_id: str
    instance_id: str | None
    topics: frozenset[UUID]  # existing topics of its subscription
    target: Target  # previous target


def subscribers_of(members: Sequence[Subscriber], topics: Collection[UUID]) -> dict[UUID, list[int]]:
    """Return the positions in `members` of the subscribers of each topic, in order."""
    by_subscription: dict[frozenset[UUID], list[int]] = {}
    for number, member in enumerate(members):
        by_subscription.setdefault(member.topics, []).append(number)
    by_topic: dict[UUID, list[int]] = {topic_id: [] for topic_id in topics}
    for subscription, numbers in by_subscription.items():
        for topic_id in subscription:
            if (subscribers := by_topic.get(topic_id)) is not None:
                subscribers += numbers
    if len(by_subscription) > 1:
        for numbers in by_topic.values():
            numbers.sort()
    return by_topic
