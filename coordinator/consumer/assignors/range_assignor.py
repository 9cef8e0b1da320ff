"""The range assignor: splits each topic into contiguous ranges, one per subscriber (consumer-groups §11.1).

It ignores previous assignments. With equal subscriptions and partition counts a member gets the same partitions of each
topic. Source: Kafka's `RangeAssignor`.
"""

from collections.abc import Mapping, Sequence
from uuid import UUID

from kohort.coordinator.consumer.assignors.subscriber import Assigning, Subscriber, subscribers_of


def assign_ranges(members: Sequence[Subscriber], counts: Mapping[UUID, int], homogeneous: bool) -> Assigning:
    ordered = sorted(members, key=lambda member: (member.instance_id is None, member.instance_id or member.member_id))
    targets: list[dict[UUID, frozenset[int]]] = [{} for _ in ordered]
    all_members = range(len(ordered))
    subscribers = {} if homogeneous else subscribers_of(ordered, counts)
    for topic_id, count in counts.items():
        yield count
        takers: Sequence[int] = subscribers.get(topic_id, ())
        if homogeneous and topic_id in ordered[0].topics:  # as in Kafka: only the first subscription is checked
            takers = all_members
        if not takers:
            continue
        quota, extra = divmod(count, len(takers))
        start = 0
        for position, number in enumerate(takers if quota else takers[:extra]):
            end = start + quota + (position < extra)
            targets[number][topic_id] = frozenset(range(start, end))
            start = end
    by_id = {member.member_id: target for member, target in zip(ordered, targets, strict=True)}
    return {member.member_id: by_id[member.member_id] for member in members}
