"""A member as an assignor sees it, and who subscribes to what."""

from collections.abc import Collection, Sequence
from typing import NamedTuple
from uuid import UUID

from kohort.coordinator.consumer.values import Target


class Subscriber(NamedTuple):
    """Who is to be given partitions."""

    member_id: str
    instance_id: str | None
    topics: frozenset[UUID]
    """What it subscribes to, as far as it exists."""
    target: Target
    """What it was to have until now."""


def subscribers_of(members: Sequence[Subscriber], topics: Collection[UUID]) -> dict[UUID, list[int]]:
    """By topic, who subscribes to it: positions in `members`, in order."""
    found: dict[UUID, list[int]] = {topic_id: [] for topic_id in topics}
    for number, each in enumerate(members):
        for topic_id in each.topics:
            if topic_id in found:
                found[topic_id].append(number)
    return found
