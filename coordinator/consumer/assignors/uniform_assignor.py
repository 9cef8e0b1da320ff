"""The uniform assignor: as even as it can be, with as few moves as possible (consumer-groups §11.2, §11.3).

Where all members subscribe to the same topics their totals differ by one at most. Otherwise each topic is balanced
among its subscribers. Source: Kafka's `UniformHomogeneousAssignmentBuilder`, `UniformHeterogeneousAssignmentBuilder`.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from heapq import heapify, heappop, heappush
from uuid import UUID

from kohort.coordinator.consumer.assignors.subscriber import Subscriber, subscribers_of
from kohort.coordinator.consumer.values import Target

BALANCING_ROUNDS = 16
"""How often all topics are balanced at most, where subscriptions differ."""


def assign_uniformly(members: Sequence[Subscriber], counts: Mapping[UUID, int], homogeneous: bool) -> dict[str, Target]:
    """The target of each member, by its id. Members and topics are looked at in the order of the arguments.

    In Kafka that order is the one of hash maps.
    """
    return _Equal(members, counts).assign() if homogeneous else _Unequal(members, counts).assign()


class _Equal:
    """All members subscribe to the same topics. As in Kafka, those of the first one are taken for everybody's."""

    def __init__(self, members: Sequence[Subscriber], counts: Mapping[UUID, int]) -> None:
        self._members = members
        counts = {topic_id: count for topic_id, count in counts.items() if topic_id in members[0].topics}
        self._counts = counts
        self._targets: dict[str, Target] = {}
        taken: dict[UUID, set[int]] = defaultdict(set)
        for each in members:
            for topic_id, partitions in each.target.items():
                taken[topic_id] |= partitions
        self._pool = [
            (topic_id, partition)
            for topic_id, count in counts.items()
            for partition in range(count)
            if partition not in taken.get(topic_id, ())
        ]
        """What nobody had, then what is taken from those that had too much."""

    def assign(self) -> dict[str, Target]:
        """Everybody keeps what fits its share; the pool fills the others up."""
        quota, extras = divmod(sum(self._counts.values()), len(self._members))
        unfilled: list[tuple[str, int]] = []
        for number, each in enumerate(self._members):
            holds_extra = extras > 0
            missing = self._keep(each, quota + holds_extra)
            if missing and holds_extra and len(self._members) - number > extras:
                # A later member may own that many already; the last ones must take what is left.
                missing -= 1
                holds_extra = False
            if missing:
                unfilled.append((each.member_id, missing))
            extras -= holds_extra
        self._fill(unfilled)
        return self._targets

    def _keep(self, member: Subscriber, quota: int) -> int:
        """Leaves a member up to `quota` of its partitions. Returns how many it still lacks."""
        before = {topic_id: parts for topic_id, parts in member.target.items() if topic_id in self._counts}
        if sum(map(len, before.values())) <= quota:
            self._targets[member.member_id] = before if len(before) < len(member.target) else member.target
            return quota - sum(map(len, before.values()))
        kept: dict[UUID, frozenset[int]] = {}
        for topic_id, partitions in before.items():
            ordered = sorted(partitions)
            if quota:
                kept[topic_id] = frozenset(ordered[:quota])
            self._pool += [(topic_id, partition) for partition in ordered[quota:]]
            quota -= min(quota, len(ordered))
        self._targets[member.member_id] = kept
        return 0

    def _fill(self, unfilled: Iterable[tuple[str, int]]) -> None:
        pool = iter(self._pool)
        for member_id, missing in unfilled:
            given: dict[UUID, set[int]] = defaultdict(set)
            for _ in range(missing):
                topic_id, partition = next(pool)
                given[topic_id].add(partition)
            before = self._targets[member_id]
            self._targets[member_id] = {
                **before,
                **{topic_id: before.get(topic_id, frozenset()) | parts for topic_id, parts in given.items()},
            }


class _Unequal:
    """Members subscribe to different topics."""

    def __init__(self, members: Sequence[Subscriber], counts: Mapping[UUID, int]) -> None:
        self._members = members
        self._counts = counts
        self._loads = [0] * len(members)
        self._owned: list[dict[UUID, set[int]]] = []
        self._subscribers = subscribers_of(members, counts)
        self._changed = [False] * len(members)

    def assign(self) -> dict[str, Target]:
        """Takes over what was, gives what nobody has, and balances."""
        unassigned = self._take_over()
        ordered = sorted((topic for topic in self._counts if self._subscribers[topic]), key=self._rank)
        for topic_id in ordered:
            if unassigned[topic_id]:
                self._give(topic_id, unassigned[topic_id])
        self._balance([topic_id for topic_id in ordered if len(self._subscribers[topic_id]) > 1])
        return {
            each.member_id: {topic_id: frozenset(parts) for topic_id, parts in owned.items() if parts}
            if changed
            else each.target
            for each, owned, changed in zip(self._members, self._owned, self._changed, strict=True)
        }

    def _take_over(self) -> dict[UUID, list[int]]:
        """What members keep. Returns the partitions that nobody has, by topic."""
        taken: dict[UUID, set[int]] = defaultdict(set)
        for number, each in enumerate(self._members):
            owned = {topic_id: set(parts) for topic_id, parts in each.target.items() if topic_id in each.topics}
            self._changed[number] = len(owned) < len(each.target)
            self._owned.append(owned)
            self._loads[number] = sum(map(len, owned.values()))
            for topic_id, parts in owned.items():
                taken[topic_id] |= parts
        return {
            topic_id: [partition for partition in range(count) if partition not in taken.get(topic_id, ())]
            for topic_id, count in self._counts.items()
        }

    def _rank(self, topic_id: UUID) -> tuple[float, int, int, int]:
        """Topics with many partitions for few subscribers first; ids compare as two signed halves."""
        subscribers = len(self._subscribers[topic_id])
        high, low = topic_id.int >> 64, topic_id.int & (2**64 - 1)
        return -self._counts[topic_id] / subscribers, subscribers, _signed(high), _signed(low)

    def _give(self, topic_id: UUID, partitions: Sequence[int]) -> None:
        """Fills the least loaded subscribers level by level, from the first to the last."""
        loads = self._loads
        order = sorted(self._subscribers[topic_id], key=loads.__getitem__)
        level, position, width = loads[order[0]], 0, 1
        while width < len(order) and loads[order[width]] == level:
            width += 1
        for partition in partitions:
            self._move_to(order[position], topic_id, partition)
            position += 1
            if position == width:  # all stand one higher now; who stands there already joins them
                position, level = 0, level + 1
                while width < len(order) and loads[order[width]] == level:
                    width += 1

    def _move_to(self, number: int, topic_id: UUID, partition: int) -> None:
        self._owned[number].setdefault(topic_id, set()).add(partition)
        self._loads[number] += 1
        self._changed[number] = True

    def _balance(self, topics: Sequence[UUID]) -> None:
        """Rounds over all topics until a whole round has moved nothing."""
        unmoved = 0
        for _ in range(BALANCING_ROUNDS):
            for topic_id in topics:
                unmoved = 0 if self._balance_topic(topic_id) else unmoved + 1
                if unmoved >= len(topics):
                    return

    def _balance_topic(self, topic_id: UUID) -> bool:
        """Moves partitions from the most to the least loaded subscriber. Returns whether any was moved."""
        loads, owned, subscribers = self._loads, self._owned, self._subscribers[topic_id]
        subscribed = [loads[number] for number in subscribers]
        if max(subscribed) - min(subscribed) <= 1:
            return False
        # Entries whose load is no longer the member's are left over from before a move.
        takers = [(loads[number], number) for number in subscribers]
        givers = [(-loads[number], -number) for number in subscribers if owned[number].get(topic_id)]
        heapify(takers)
        heapify(givers)
        moved = False
        while True:
            while takers[0][0] != loads[takers[0][1]]:
                heappop(takers)
            while givers and (-givers[0][0] != loads[-givers[0][1]] or not owned[-givers[0][1]][topic_id]):
                heappop(givers)
            if not givers or -givers[0][0] - takers[0][0] <= 1:
                return moved
            giver, taker = -givers[0][1], takers[0][1]
            partition = max(owned[giver][topic_id])
            owned[giver][topic_id].remove(partition)
            loads[giver] -= 1
            self._changed[giver] = True
            self._move_to(taker, topic_id, partition)
            for number in (giver, taker):
                heappush(takers, (loads[number], number))
                heappush(givers, (-loads[number], -number))
            moved = True


def _signed(number: int) -> int:
    return number - 2**64 if number >= 2**63 else number
