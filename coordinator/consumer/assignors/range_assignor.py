"""The range assignor: each topic is cut into contiguous slices, one a member (consumer-groups §11.1).

It ignores what members had. With equal subscriptions and partition counts it gives the same partitions of all topics to
the same member. Source: Kafka's `RangeAssignor`.
"""

from collections.abc import Mapping, Sequence
from uuid import UUID

from kohort.coordinator.consumer.assignors.subscriber import Subscriber
from kohort.coordinator.consumer.values import Target


def assign_ranges(members: Sequence[Subscriber], counts: Mapping[UUID, int], homogeneous: bool) -> dict[str, Target]:
    """The target of each member, by its id."""
    ordered = sorted(members, key=lambda each: (each.instance_id is None, each.instance_id or each.member_id))
    targets: dict[str, dict[UUID, frozenset[int]]] = {each.member_id: {} for each in ordered}
    for topic_id, count in counts.items():
        takers = ordered if homogeneous else [each for each in ordered if topic_id in each.topics]
        if not takers:
            continue
        quota, extra = divmod(count, len(takers))
        start = 0
        for number, each in enumerate(takers):
            end = start + quota + (number < extra)
            if start < end:
                targets[each.member_id][topic_id] = frozenset(range(start, end))
            start = end
    return dict(targets)
