"""The assignor of share groups, `simple` (share-groups §5; Kafka 4.2+: `SimpleAssignor`).

Several members may have one partition. Each has about as many as the others, each partition is shared by as many as any
other, and everybody keeps as much as that allows. Who gives up and who is given what goes by the order of Kafka's hash
maps (seen in Apache Kafka 4.3.0).
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple
from uuid import UUID

from kohort.coordinator.java_order import capacity_for, hash_of_id_partition, in_map_order
from kohort.coordinator.modern.modern_values import Target

TopicIdPartition = tuple[UUID, int]

SIMPLE = "simple"
"""Its name."""


class Subscriber(NamedTuple):
    """A member, as the assignor sees it."""

    member_id: str
    topics: frozenset[UUID]
    """Those it subscribes to that exist."""
    target: Target
    """What it was to have until now."""


def assign(
    members: Sequence[Subscriber], assignable: Mapping[UUID, frozenset[int]], *, homogeneous: bool
) -> dict[str, Target]:
    """What each member is to have, by its id. `members`: in the order in which Kafka's assignors get them.

    `assignable`: of all topics that somebody subscribes to. `homogeneous`: all subscribe to the same, so that all
    partitions are shared out at once; else each topic by itself.
    """
    topics = sorted({topic_id for member in members for topic_id in member.topics})
    if homogeneous:
        partitions = [(topic_id, each) for topic_id in topics for each in sorted(assignable[topic_id])]
        shares = [_share_out(members, partitions, _by_hash)]
    else:
        shares = [
            _share_out(
                [member for member in members if topic_id in member.topics],
                [(topic_id, each) for each in sorted(assignable[topic_id])],
                _by_number,
            )
            for topic_id in topics
        ]
    return {member.member_id: _target(share.get(member.member_id, ()) for share in shares) for member in members}


def _target(parts: Iterable[Iterable[TopicIdPartition]]) -> Target:
    found: dict[UUID, set[int]] = {}
    for part in parts:
        for topic_id, partition in part:
            found.setdefault(topic_id, set()).add(partition)
    return {topic_id: frozenset(found[topic_id]) for topic_id in sorted(found)}


_Order = Callable[[Iterable[TopicIdPartition], int], list[TopicIdPartition]]
"""How a map of partitions is walked that is made for that many of them."""


def _by_hash(partitions: Iterable[TopicIdPartition], made_for: int) -> list[TopicIdPartition]:
    return in_map_order(partitions, _hash_of, capacity=made_for)


def _hash_of(partition: TopicIdPartition) -> int:
    return hash_of_id_partition(*partition)


def _by_number(partitions: Iterable[TopicIdPartition], made_for: int) -> list[TopicIdPartition]:
    """Partitions of one topic are numbers in Kafka, and small numbers are their own hashes."""
    return sorted(partitions)


def _share_out(
    members: Sequence[Subscriber], partitions: list[TopicIdPartition], order: _Order
) -> dict[str, Iterable[TopicIdPartition]]:
    """What each member has of these partitions, by its id."""
    if not members or not partitions:
        return {}
    sharing = -(-len(members) // len(partitions))
    wanted = desired_counts(len(members), len(partitions), sharing)
    plan = _Plan(members, partitions, sharing, wanted, order)
    plan.take_from_who_has_too_much()
    plan.take_from_shared_by_too_many()
    plan.hand_out()
    return {member.member_id: has for member, has in zip(members, plan.has, strict=True)}


def desired_counts(members: int, partitions: int, sharing: int) -> list[int]:
    """How many partitions each member is to have, if each partition is shared by `sharing` members."""
    total = sharing * partitions
    ends = [-(-total * number // members) for number in range(members + 1)]
    return [after - before for before, after in pairwise(ends)]


class _Plan:
    """Who has what, while it is being shared out. Members go by their numbers."""

    def __init__(
        self,
        members: Sequence[Subscriber],
        partitions: list[TopicIdPartition],
        sharing: int,
        wanted: list[int],
        order: _Order,
    ) -> None:
        self._sharing = sharing
        self._wanted = wanted
        self._order = order
        self.has: list[dict[TopicIdPartition, None]] = [{} for _ in members]
        assignable = set(partitions)
        sharers: dict[TopicIdPartition, set[int]] = {}
        for number, member in enumerate(members):
            for topic_id, numbers in member.target.items():
                for index in sorted(numbers):
                    if (each := (topic_id, index)) in assignable:
                        sharers.setdefault(each, set()).add(number)
                        self.has[number][each] = None
        walked = order([*sharers, *(each for each in partitions if each not in sharers)], capacity_for(len(partitions)))
        self._sharers = {each: sharers.get(each, set()) for each in walked}

    def _take(self, partition: TopicIdPartition, number: int) -> None:
        self._sharers[partition].remove(number)
        del self.has[number][partition]

    def _lacking(self) -> list[int]:
        return [number for number, has in enumerate(self.has) if len(has) < self._wanted[number]]

    def take_from_who_has_too_much(self) -> None:
        """What comes first in its map goes first."""
        for number, has in enumerate(self.has):
            surplus = len(has) - self._wanted[number]
            if surplus > 0:
                for partition in self._order(has, 0)[:surplus]:
                    self._take(partition, number)

    def take_from_shared_by_too_many(self) -> None:
        """The first members give up."""
        for partition, sharers in self._sharers.items():
            surplus = len(sharers) - self._sharing
            if surplus > 0:
                for number in sorted(sharers)[:surplus]:
                    self._take(partition, number)

    def hand_out(self) -> None:
        """Goes round among those that have too little, with all partitions that too few share.

        It ends with the first round in which nobody is given anything, as in Kafka, whatever is left then.
        """
        waiting = self._lacking()
        round_: Iterator[int] = iter(waiting)
        given = False
        for partition, sharers in self._sharers.items():
            while len(sharers) < self._sharing and waiting:
                number = next(round_, None)
                if number is None:
                    if not given:
                        return
                    waiting = self._lacking()
                    round_, given = iter(waiting), False
                elif number not in sharers:
                    sharers.add(number)
                    self.has[number][partition] = None
                    given = True
