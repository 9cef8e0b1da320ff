"""A member as an assignor sees it."""

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
