"""Server-side assignors: pure functions of members and topics (consumer-groups §11)."""

from collections.abc import Callable, Mapping, Sequence
from uuid import UUID

from kohort.coordinator.at_once import at_once
from kohort.coordinator.consumer.assignors.range_assignor import assign_ranges
from kohort.coordinator.consumer.assignors.subscriber import Assigning, Subscriber
from kohort.coordinator.consumer.assignors.uniform_assignor import assign_uniformly
from kohort.coordinator.modern.modern_values import Target

# Arguments: members, number of partitions by topic, and whether all members subscribe to the same topics.
Assignor = Callable[[Sequence[Subscriber], Mapping[UUID, int], bool], Assigning]

# the assignors of Kafka 4.4 by their names in requests
ASSIGNORS: dict[str, Assignor] = {"uniform": assign_uniformly, "range": assign_ranges}


def assign(
    name: str, members: Sequence[Subscriber], counts: Mapping[UUID, int], homogeneous: bool
) -> dict[str, Target]:
    """Return the target of each member, computed in one step."""
    return at_once(ASSIGNORS[name](members, counts, homogeneous))
