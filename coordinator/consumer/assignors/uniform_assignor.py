"""The uniform assignor: as even as it can be, with as few moves as possible (consumer-groups §11.2, §11.3).

Where all members subscribe to the same topics their totals differ by one at most. Otherwise each topic is balanced
among its subscribers. Source: Kafka's `UniformHomogeneousAssignmentBuilder`, `UniformHeterogeneousAssignmentBuilder`.
"""

from bisect import insort
from collections import defaultdict
from collections.abc import Collection, Generator, Iterable, Mapping, Sequence
from heapq import heapify, heappop, heappush
from uuid import UUID

from kohort.coordinator.consumer.assignors.subscriber import Assigning, Subscriber, subscribers_of
from kohort.coordinator.modern.modern_values import Target

BALANCING_ROUNDS = 16
"""How often all topics are balanced at most, where subscriptions differ."""

EFFORT_OF_A_MOVE = 40
"""To move a partition from one member to another takes as long as to look at so many."""


def assign_uniformly(members: Sequence[Subscriber], counts: Mapping[UUID, int], homogeneous: bool) -> Assigning:
    """Members and topics are looked at in the order of the arguments. In Kafka that is the order of hash maps."""
    return _Equal(members, counts).assign() if homogeneous else _Unequal(members, counts).assign()


class _Equal:
    """All members subscribe to the same topics. As in Kafka, those of the first one are taken for everybody's."""

    def __init__(self, members: Sequence[Subscriber], counts: Mapping[UUID, int]) -> None:
        self._members = members
        self._counts = {topic_id: count for topic_id, count in counts.items() if topic_id in members[0].topics}
        self._targets: dict[str, Target] = {}
        self._pool: list[tuple[UUID, list[int]]] = []
        """What nobody had, then what is taken from those that had too much."""

    def assign(self) -> Assigning:
        """Everybody keeps what fits its share; the pool fills the others up."""
        taken: dict[UUID, set[int]] = defaultdict(set)
        for each in self._members:
            for topic_id, partitions in each.target.items():
                taken[topic_id] |= partitions
        for topic_id, count in self._counts.items():
            yield count
            self._pool.append((topic_id, _missing(count, taken.get(topic_id))))
        quota, extras = divmod(sum(self._counts.values()), len(self._members))
        unfilled: list[tuple[str, int]] = []
        for number, member in enumerate(self._members):
            size = sum(map(len, member.target.values()))
            yield size
            holds_extra = extras > 0
            missing = self._keep(member, size, quota + holds_extra)
            if missing and holds_extra and len(self._members) - number > extras:
                # A later member may own that many already; the last ones must take what is left.
                missing -= 1
                holds_extra = False
            if missing:
                unfilled.append((member.member_id, missing))
            extras -= holds_extra
        yield from self._fill(unfilled)
        return self._targets

    def _keep(self, member: Subscriber, size: int, quota: int) -> int:
        """Leaves a member up to `quota` of its `size` partitions. Returns how many it still lacks."""
        before = member.target
        if not before.keys() <= self._counts.keys():
            before = {topic_id: parts for topic_id, parts in before.items() if topic_id in self._counts}
            size = sum(map(len, before.values()))
        if size <= quota:
            self._targets[member.member_id] = before
            return quota - size
        kept: dict[UUID, frozenset[int]] = {}
        for topic_id, partitions in before.items():
            ordered = sorted(partitions)
            if quota:
                kept[topic_id] = frozenset(ordered[:quota])
            self._pool.append((topic_id, ordered[quota:]))
            quota -= min(quota, len(ordered))
        self._targets[member.member_id] = kept
        return 0

    def _fill(self, unfilled: Iterable[tuple[str, int]]) -> Generator[int, None, None]:
        pool = iter(self._pool)
        topic_id, partitions = next(pool, (_NO_TOPIC, []))
        start = 0
        for member_id, missing in unfilled:
            yield missing
            given = dict(self._targets[member_id])
            while missing:
                if start == len(partitions):
                    topic_id, partitions = next(pool)
                    start = 0
                    continue
                some = partitions[start : start + missing]
                start += len(some)
                missing -= len(some)
                given[topic_id] = given.get(topic_id, _NO_PARTITIONS).union(some)
            self._targets[member_id] = given


_NO_TOPIC = UUID(int=0)
_NO_PARTITIONS: frozenset[int] = frozenset()


def _missing(count: int, taken: set[int] | None) -> list[int]:
    """The partitions of a topic that are not taken, in order."""
    return sorted(set(range(count)) - taken) if taken else list(range(count))


class _Unequal:
    """Members subscribe to different topics."""

    def __init__(self, members: Sequence[Subscriber], counts: Mapping[UUID, int]) -> None:
        self._members = members
        self._counts = counts
        self._loads = [0] * len(members)
        self._owned: list[dict[UUID, set[int]]] = []
        self._subscribers = subscribers_of(members, counts)
        self._changed = [False] * len(members)

    def assign(self) -> Assigning:
        """Takes over what was, gives what nobody has, and balances."""
        unassigned = yield from self._take_over()
        ordered = sorted((topic for topic in self._counts if self._subscribers[topic]), key=self._rank)
        for topic_id in ordered:
            yield len(unassigned[topic_id])
            if unassigned[topic_id]:
                self._give(topic_id, unassigned[topic_id])
        yield from self._balance([topic_id for topic_id in ordered if len(self._subscribers[topic_id]) > 1])
        return {
            each.member_id: {topic_id: frozenset(parts) for topic_id, parts in owned.items() if parts}
            if changed
            else each.target
            for each, owned, changed in zip(self._members, self._owned, self._changed, strict=True)
        }

    def _take_over(self) -> Generator[int, None, dict[UUID, list[int]]]:
        """What members keep. Returns the partitions that nobody has, by topic."""
        taken: dict[UUID, set[int]] = defaultdict(set)
        for number, each in enumerate(self._members):
            yield sum(map(len, each.target.values()))
            owned = {topic_id: set(parts) for topic_id, parts in each.target.items() if topic_id in each.topics}
            self._changed[number] = len(owned) < len(each.target)
            self._owned.append(owned)
            self._loads[number] = sum(map(len, owned.values()))
            for topic_id, parts in owned.items():
                taken[topic_id] |= parts
        return {topic_id: _missing(count, taken.get(topic_id)) for topic_id, count in self._counts.items()}

    def _rank(self, topic_id: UUID) -> tuple[float, int, int, int]:
        """Topics with many partitions for few subscribers first; ids compare as two signed halves."""
        subscribers = len(self._subscribers[topic_id])
        high, low = topic_id.int >> 64, topic_id.int & (2**64 - 1)
        return -self._counts[topic_id] / subscribers, subscribers, _signed(high), _signed(low)

    def _give(self, topic_id: UUID, partitions: Sequence[int]) -> None:
        """Fills the least loaded subscribers level by level: on each, in turn, from the first to the last."""
        loads = self._loads
        order = sorted(self._subscribers[topic_id], key=loads.__getitem__)
        start, width = 0, 1
        while start < len(partitions):
            level = loads[order[0]]
            while width < len(order) and loads[order[width]] == level:
                width += 1
            end = len(partitions)
            if width < len(order):  # then whoever stands next joins them
                end = min(end, start + (loads[order[width]] - level) * width)
            for position in range(min(width, end - start)):
                self._add(order[position], topic_id, partitions[start + position : end : width])
            start = end

    def _add(self, number: int, topic_id: UUID, partitions: Collection[int]) -> None:
        self._owned[number].setdefault(topic_id, set()).update(partitions)
        self._loads[number] += len(partitions)
        self._changed[number] = True

    def _balance(self, topics: Sequence[UUID]) -> Generator[int, None, None]:
        """Rounds over all topics until a whole round has moved nothing."""
        unmoved = 0
        for _ in range(BALANCING_ROUNDS):
            for topic_id in topics:
                yield len(self._subscribers[topic_id])
                moved = yield from self._balance_topic(topic_id)
                unmoved = 0 if moved else unmoved + 1
                if unmoved >= len(topics):
                    return

    def _balance_topic(self, topic_id: UUID) -> Generator[int, None, bool]:
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
        in_order: dict[int, list[int]] = {}
        """What those have who have given something, so that the last one is at hand."""
        moved = 0
        while True:
            while takers[0][0] != loads[takers[0][1]]:
                heappop(takers)
            while givers and (-givers[0][0] != loads[-givers[0][1]] or not owned[-givers[0][1]][topic_id]):
                heappop(givers)
            if not givers or -givers[0][0] - takers[0][0] <= 1:
                return moved > 0
            giver, taker = -givers[0][1], takers[0][1]
            if giver not in in_order:
                in_order[giver] = sorted(owned[giver][topic_id])
            partition = in_order[giver].pop()
            owned[giver][topic_id].remove(partition)
            loads[giver] -= 1
            self._changed[giver] = True
            self._add(taker, topic_id, (partition,))
            if taker in in_order:
                insort(in_order[taker], partition)
            for number in (giver, taker):
                heappush(takers, (loads[number], number))
                heappush(givers, (-loads[number], -number))
            moved += 1
            if moved % 100 == 0:
                yield 100 * EFFORT_OF_A_MOVE


def _signed(number: int) -> int:
    return number - 2**64 if number >= 2**63 else number
