"""The server-side assignors: who gets which partitions (consumer-groups §11). Pure functions of members and topics."""

from collections.abc import Callable, Mapping, Sequence
from uuid import UUID

from kohort.coordinator.at_once import at_once
from kohort.coordinator.consumer.assignors.range_assignor import assign_ranges
from kohort.coordinator.consumer.assignors.subscriber import Assigning, Subscriber
from kohort.coordinator.consumer.assignors.uniform_assignor import assign_uniformly
from kohort.coordinator.modern.modern_values import Target

Assignor = Callable[[Sequence[Subscriber], Mapping[UUID, int], bool], Assigning]
"""Members, the number of partitions of each topic, and whether all members subscribe to the same topics."""

ASSIGNORS: dict[str, Assignor] = {"uniform": assign_uniformly, "range": assign_ranges}
"""Those of Kafka 4.3, by the names that members ask for."""


def assign(
    name: str, members: Sequence[Subscriber], counts: Mapping[UUID, int], homogeneous: bool
) -> dict[str, Target]:
    """What an assignor gives each member; nobody is served in between."""
    return at_once(ASSIGNORS[name](members, counts, homogeneous))
