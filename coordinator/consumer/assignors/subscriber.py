"""What assignors have in common: a member as they see it, and who subscribes to what."""

from collections.abc import Collection, Generator, Sequence
from typing import NamedTuple
from uuid import UUID

from kohort.coordinator.modern.modern_values import Target

Assigning = Generator[int, None, dict[str, Target]]
"""An assignor at work. It yields how much it has done since: a unit is a partition that was looked at, a tenth of a
microsecond. It returns the target of each member, by its id."""


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
    by_subscription: dict[frozenset[UUID], list[int]] = {}
    for number, each in enumerate(members):
        by_subscription.setdefault(each.topics, []).append(number)
    found: dict[UUID, list[int]] = {topic_id: [] for topic_id in topics}
    for subscription, numbers in by_subscription.items():
        for topic_id in subscription:
            if (known := found.get(topic_id)) is not None:
                known += numbers
    if len(by_subscription) > 1:
        for numbers in found.values():
            numbers.sort()
    return found
