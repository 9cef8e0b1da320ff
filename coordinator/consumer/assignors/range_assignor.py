"""The range assignor: each topic is cut into contiguous slices, one a member (consumer-groups §11.1).

It ignores what members had. With equal subscriptions and partition counts it gives the same partitions of all topics to
the same member. Source: Kafka's `RangeAssignor`.
"""

from collections.abc import Mapping, Sequence
from uuid import UUID

from kohort.coordinator.consumer.assignors.subscriber import Assigning, Subscriber, subscribers_of


def assign_ranges(members: Sequence[Subscriber], counts: Mapping[UUID, int], homogeneous: bool) -> Assigning:
    """One topic after the other."""
    ordered = sorted(members, key=lambda each: (each.instance_id is None, each.instance_id or each.member_id))
    shares: list[dict[UUID, frozenset[int]]] = [{} for _ in ordered]
    everybody = range(len(ordered))
    subscribers = {} if homogeneous else subscribers_of(ordered, counts)
    for topic_id, count in counts.items():
        yield count
        takers: Sequence[int] = subscribers.get(topic_id, ())
        if homogeneous and topic_id in ordered[0].topics:  # as in Kafka: the first one speaks for all
            takers = everybody
        if not takers:
            continue
        quota, extra = divmod(count, len(takers))
        start = 0
        for position, number in enumerate(takers if quota else takers[:extra]):
            end = start + quota + (position < extra)
            shares[number][topic_id] = frozenset(range(start, end))
            start = end
    return {each.member_id: share for each, share in zip(ordered, shares, strict=True)}
