"""The assignor of share groups, `simple` (share-groups §5; Kafka 4.2+: `SimpleAssignor`).

Several members may have one partition. Each has about as many as the others, each partition is shared by as many as any
other, and everybody keeps as much as that allows. Which ones move then is as it comes.
"""

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple
from uuid import UUID

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
    """What each member is to have, by its id. `assignable`: of all topics that somebody subscribes to.

    `homogeneous`: all subscribe to the same, so that all partitions are shared out at once; else each topic by itself.
    """
    topics = sorted({topic_id for member in members for topic_id in member.topics})
    if homogeneous:
        partitions = [(topic_id, each) for topic_id in topics for each in sorted(assignable[topic_id])]
        shares = [_share_out(members, partitions)]
    else:
        shares = [
            _share_out(
                [member for member in members if topic_id in member.topics],
                [(topic_id, each) for each in sorted(assignable[topic_id])],
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


def _share_out(members: Sequence[Subscriber], partitions: list[TopicIdPartition]) -> dict[str, set[TopicIdPartition]]:
    """What each member has of these partitions, by its id."""
    if not members or not partitions:
        return {}
    sharing = -(-len(members) // len(partitions))
    wanted = desired_counts(len(members), len(partitions), sharing)
    plan = _Plan(members, partitions, sharing, {each.member_id: n for each, n in zip(members, wanted, strict=True)})
    plan.take_from_shared_by_too_many()
    plan.take_from_who_has_too_much()
    plan.hand_out()
    return plan.has


def desired_counts(members: int, partitions: int, sharing: int) -> list[int]:
    """How many partitions each member is to have, if each partition is shared by `sharing` members."""
    total = sharing * partitions
    ends = [-(-total * number // members) for number in range(members + 1)]
    return [after - before for before, after in pairwise(ends)]


class _Plan:
    """Who has what, while it is being shared out."""

    def __init__(
        self, members: Sequence[Subscriber], partitions: list[TopicIdPartition], sharing: int, wanted: dict[str, int]
    ) -> None:
        self._sharing = sharing
        self._wanted = wanted
        self.has: dict[str, set[TopicIdPartition]] = {member.member_id: set() for member in members}
        self._sharers: dict[TopicIdPartition, list[str]] = {each: [] for each in partitions}
        for member in members:
            for topic_id, numbers in member.target.items():
                for number in sorted(numbers):
                    self._give((topic_id, number), member.member_id)

    def _give(self, partition: TopicIdPartition, member_id: str) -> None:
        """What cannot be assigned, or not any more, is passed over."""
        sharers = self._sharers.get(partition)
        if sharers is not None:
            sharers.append(member_id)
            self.has[member_id].add(partition)

    def _take(self, partition: TopicIdPartition, member_id: str) -> None:
        self._sharers[partition].remove(member_id)
        self.has[member_id].discard(partition)

    def _surplus(self, member_id: str) -> int:
        return len(self.has[member_id]) - self._wanted[member_id]

    def take_from_shared_by_too_many(self) -> None:
        """Who has most beyond its count gives up first."""
        for partition, sharers in self._sharers.items():
            for _ in range(len(sharers) - self._sharing):
                self._take(partition, max(sharers, key=self._surplus))

    def take_from_who_has_too_much(self) -> None:
        """What most others share goes first."""
        for member_id, has in self.has.items():
            surplus = self._surplus(member_id)
            if surplus > 0:
                spare = sorted(has, key=lambda partition: (-len(self._sharers[partition]), partition))
                for partition in spare[:surplus]:
                    self._take(partition, member_id)

    def hand_out(self) -> None:
        """Goes round among those that have too little, with all partitions that too few share."""
        lacking = {member_id: -self._surplus(member_id) for member_id in self.has}
        waiting = deque(member_id for member_id, count in lacking.items() if count > 0)
        for partition, sharers in self._sharers.items():
            refused = 0
            while len(sharers) < self._sharing and refused < len(waiting):
                member_id = waiting.popleft()
                if member_id in sharers:
                    refused += 1
                    waiting.append(member_id)
                    continue
                refused = 0
                sharers.append(member_id)
                self.has[member_id].add(partition)
                lacking[member_id] -= 1
                if lacking[member_id]:
                    waiting.append(member_id)
