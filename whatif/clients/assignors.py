"""Client-side assignors: range, roundrobin and the sticky ones, for members with equal subscriptions.

Source: Kafka's RangeAssignor, RoundRobinAssignor, AbstractStickyAssignor (constrained assignment) and
CooperativeStickyAssignor. librdkafka and kafka-python follow the same rules.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

Assigned = dict[str, list[tuple[str, int]]]  # partitions by member id


class Subscriber(NamedTuple):
    """A member as its leader sees it."""

    member_id: str
    instance: str | None
    topics: tuple[str, ...]
    owned: tuple[tuple[str, int], ...] = ()

    @property
    def rank(self) -> tuple[bool, str]:
        """Position in the order of the assignors: static members first, by instance id."""
        return self.instance is None, self.instance or self.member_id


Assignor = Callable[[Sequence[Subscriber], Mapping[str, int]], Assigned]


def assign_range(members: Sequence[Subscriber], counts: Mapping[str, int]) -> Assigned:
    assigned: Assigned = {member.member_id: [] for member in members}
    for topic, count in sorted(counts.items()):
        takers = sorted((member for member in members if topic in member.topics), key=lambda member: member.rank)
        if not takers:
            continue
        size, more = divmod(count, len(takers))
        start = 0
        for number, taker in enumerate(takers):
            end = start + size + (number < more)
            assigned[taker.member_id] += [(topic, partition) for partition in range(start, end)]
            start = end
    return assigned


def assign_round_robin(members: Sequence[Subscriber], counts: Mapping[str, int]) -> Assigned:
    assigned: Assigned = {member.member_id: [] for member in members}
    order = sorted(members, key=lambda member: member.rank)
    turn = 0
    for topic, count in sorted(counts.items()):
        if not any(topic in member.topics for member in order):
            continue
        for partition in range(count):
            while topic not in order[turn % len(order)].topics:
                turn += 1
            assigned[order[turn % len(order)].member_id].append((topic, partition))
            turn += 1
    return assigned


def assign_sticky(members: Sequence[Subscriber], counts: Mapping[str, int]) -> Assigned:
    """Keep what members own as far as the result stays balanced, and spread the rest."""
    topics = {topic for member in members for topic in member.topics}
    everything = [(topic, partition) for topic in sorted(topics) for partition in range(counts.get(topic, 0))]
    least, over = divmod(len(everything), len(members))
    most = least + (over > 0)
    assigned: Assigned = {}
    free = dict.fromkeys(everything)
    at_least: list[str] = []  # members with exactly the smaller number, which may get one more
    below: list[str] = []
    full = 0
    for member in members:
        owned = sorted(partition for partition in member.owned if partition in free)
        if len(owned) < least:
            kept = owned
            below.append(member.member_id)
        elif len(owned) >= most and full < over:
            kept = owned[:most]
            full += 1
        else:
            kept = owned[:least]
            at_least.append(member.member_id)
        for partition in kept:
            del free[partition]
        assigned[member.member_id] = kept
    below.sort()
    at_least.sort()
    turn = 0
    for partition in free:
        if below:
            member_id = below[turn % len(below)]
            assigned[member_id].append(partition)
            if len(assigned[member_id]) >= least:
                below.remove(member_id)
                at_least.append(member_id)
                turn = turn % len(below) if below else 0
            else:
                turn += 1
        else:
            member_id = at_least.pop(0)
            assigned[member_id].append(partition)
    return assigned


def assign_cooperative(members: Sequence[Subscriber], counts: Mapping[str, int]) -> Assigned:
    """Assign as `assign_sticky`, without partitions that another member still has to revoke."""
    owners = {partition: member.member_id for member in members for partition in member.owned}
    return {
        member_id: [partition for partition in assigned if owners.get(partition, member_id) == member_id]
        for member_id, assigned in assign_sticky(members, counts).items()
    }


ASSIGNORS: dict[str, Assignor] = {
    "range": assign_range,
    "roundrobin": assign_round_robin,
    "sticky": assign_sticky,
    "cooperative-sticky": assign_cooperative,
}
