"""The uniform assignor: the most even distribution with the fewest moves (consumer-groups §11.2, §11.3).

If all members subscribe to the same topics, their totals differ by at most one. Otherwise each topic is balanced among
its subscribers. Source: Kafka's `UniformHomogeneousAssignmentBuilder`, `UniformHeterogeneousAssignmentBuilder`.
"""

from bisect import insort
from collections import defaultdict
from collections.abc import Collection, Generator, Iterable, Mapping, Sequence
from heapq import heapify, heappop, heappush
from itertools import filterfalse
from uuid import UUID

from kohort.coordinator.consumer.assignors.subscriber import Assigning, Subscriber, subscribers_of
from kohort.coordinator.java_order import hash_of_id, in_copied_map_order, in_map_order, numbers_in_copied_set_order
from kohort.coordinator.modern.modern_values import Target

BALANCING_ROUNDS = 16  # maximum number of rounds over all topics if subscriptions differ

EFFORT_OF_A_STEP = 1_000  # least effort that is reported at a time while the members are counted

EFFORT_OF_A_MOVE = 40  # moving a partition to another member takes as long as examining this many


def assign_uniformly(members: Sequence[Subscriber], counts: Mapping[UUID, int], homogeneous: bool) -> Assigning:
    """Return an assignor that processes members and topics in the given order, which in Kafka is that of hash maps."""
    return _Equal(members, counts).assign() if homogeneous else _Unequal(members, counts).assign()


class _Equal:
    """Assignor for equal subscriptions. As in Kafka, the first subscription is used for all members."""

    def __init__(self, members: Sequence[Subscriber], counts: Mapping[UUID, int]) -> None:
        self._members = members
        self._counts = {topic_id: count for topic_id, count in counts.items() if topic_id in members[0].topics}
        self._quota, self._extras = divmod(sum(self._counts.values()), len(members))
        self._targets: dict[str, Target] = {}
        # Unassigned partitions, followed by those that are taken from members with too many.
        self._pool: list[tuple[UUID, list[int]]] = []

    def assign(self) -> Assigning:
        """Keep what fits the quota of each member, and fill the others from the pool."""
        sizes = yield from self._take_over()
        quota, extras, effort = self._quota, self._extras, 0
        unfilled: list[tuple[str, int]] = []
        for number, (member_id, size) in enumerate(zip(self._targets, sizes, strict=True)):
            holds_extra = extras > 0
            missing = quota + holds_extra - size
            if missing < 0:
                effort += size
                self._cut(member_id, quota + holds_extra)
            elif missing and holds_extra and len(sizes) - number > extras:
                # A later member may own that many already; the last ones must take what is left.
                missing -= 1
                holds_extra = False
            if missing > 0:
                unfilled.append((member_id, missing))
            extras -= holds_extra
        yield effort
        yield from self._fill(unfilled)
        return self._targets

    def _take_over(self) -> Generator[int, None, list[int]]:
        """Keep the previous targets, put unassigned partitions into the pool, and return the sizes of the targets."""
        # By the number of the topic's ID: a UUID takes long to hash, and there is one for each member.
        owned: dict[int, list[frozenset[int]]] = {topic_id.int: [] for topic_id in self._counts}
        sizes: list[int] = []
        effort = 0
        for member in self._members:
            target, size = member.target, 0
            for topic_id, partitions in target.items():
                owned_of_topic = owned.get(topic_id.int)
                if owned_of_topic is not None:
                    owned_of_topic.append(partitions)
                    size += len(partitions)
                else:  # the topic does not exist any more, or is not subscribed
                    target = {kept_id: kept for kept_id, kept in target.items() if kept_id in self._counts}
            self._targets[member.member_id] = target
            sizes.append(size)
            effort += size
            if effort > EFFORT_OF_A_STEP:
                yield effort
                effort = 0
        for topic_id, count in self._counts.items():
            yield count + effort
            effort = 0
            self._pool.append((topic_id, _missing(count, set().union(*owned[topic_id.int]))))
        return sizes

    def _cut(self, member_id: str, quota: int) -> None:
        """Keep `quota` partitions of a member and put the others into the pool, in the order of Kafka's hash maps."""
        target = self._targets[member_id]
        topics = _topics_of(target)
        kept: dict[UUID, frozenset[int]] = {}
        for topic_id in topics:
            ordered = numbers_in_copied_set_order(target[topic_id])
            if quota:
                kept[topic_id] = frozenset(ordered[:quota])
            self._pool.append((topic_id, ordered[quota:]))
            quota -= min(quota, len(ordered))
        copied = in_copied_map_order(topics, (), hash_of_id)
        self._targets[member_id] = {topic_id: kept[topic_id] for topic_id in copied if topic_id in kept}

    def _fill(self, unfilled: Iterable[tuple[str, int]]) -> Generator[int, None, None]:
        pool = iter(self._pool)
        topic_id, partitions = next(pool, (_NO_TOPIC, []))
        start = 0
        for member_id, missing in unfilled:
            yield missing
            old_target = self._targets[member_id]
            target = dict(old_target)
            while missing:
                if start == len(partitions):
                    topic_id, partitions = next(pool)
                    start = 0
                    continue
                some = partitions[start : start + missing]
                start += len(some)
                missing -= len(some)
                target[topic_id] = target.get(topic_id, _NO_PARTITIONS).union(some)
            if len(target) > 1:
                added = list(target)[len(old_target) :]
                ordered = in_copied_map_order(_topics_of(old_target), added, hash_of_id)
                target = {topic_id: target[topic_id] for topic_id in ordered}
            self._targets[member_id] = target


def _topics_of(target: Target) -> list[UUID]:
    """Return the topics of a target in the order of the map that Kafka reads from its record."""
    return in_map_order(target, hash_of_id)


_NO_TOPIC = UUID(int=0)
_NO_PARTITIONS: frozenset[int] = frozenset()


def _missing(count: int, owned: set[int] | None) -> list[int]:
    return list(filterfalse(owned.__contains__, range(count))) if owned else list(range(count))


class _Unequal:
    """Assignor for different subscriptions."""

    def __init__(self, members: Sequence[Subscriber], counts: Mapping[UUID, int]) -> None:
        self._members = members
        self._counts = counts
        self._loads = [0] * len(members)
        self._owned: list[dict[UUID, set[int]]] = []
        self._subscribers = subscribers_of(members, counts)
        self._changed = [False] * len(members)

    def assign(self) -> Assigning:
        unassigned = yield from self._take_over()
        ordered = sorted((topic for topic in self._counts if self._subscribers[topic]), key=self._rank)
        for topic_id in ordered:
            yield len(unassigned[topic_id])
            if unassigned[topic_id]:
                self._give(topic_id, unassigned[topic_id])
        yield from self._balance([topic_id for topic_id in ordered if len(self._subscribers[topic_id]) > 1])
        return {
            member.member_id: {topic_id: frozenset(parts) for topic_id, parts in owned.items() if parts}
            if changed
            else member.target
            for member, owned, changed in zip(self._members, self._owned, self._changed, strict=True)
        }

    def _take_over(self) -> Generator[int, None, dict[UUID, list[int]]]:
        """Keep the previous assignments of subscribed topics and return the unassigned partitions by topic."""
        owned_numbers: dict[UUID, set[int]] = defaultdict(set)
        for number, member in enumerate(self._members):
            yield sum(map(len, member.target.values()))
            owned = {topic_id: set(parts) for topic_id, parts in member.target.items() if topic_id in member.topics}
            self._changed[number] = len(owned) < len(member.target)
            self._owned.append(owned)
            self._loads[number] = sum(map(len, owned.values()))
            for topic_id, parts in owned.items():
                owned_numbers[topic_id] |= parts
        return {topic_id: _missing(count, owned_numbers.get(topic_id)) for topic_id, count in self._counts.items()}

    def _rank(self, topic_id: UUID) -> tuple[float, int, int, int]:
        subscribers = len(self._subscribers[topic_id])
        high, low = topic_id.int >> 64, topic_id.int & (2**64 - 1)
        return -self._counts[topic_id] / subscribers, subscribers, _signed(high), _signed(low)

    def _give(self, topic_id: UUID, partitions: Sequence[int]) -> None:
        """Fill the least loaded subscribers level by level, each level round-robin in order."""
        loads = self._loads
        order = sorted(self._subscribers[topic_id], key=loads.__getitem__)
        start, width = 0, 1
        while start < len(partitions):
            level = loads[order[0]]
            while width < len(order) and loads[order[width]] == level:
                width += 1
            end = len(partitions)
            if width < len(order):  # at that load the next subscriber joins
                end = min(end, start + (loads[order[width]] - level) * width)
            for position in range(min(width, end - start)):
                self._add(order[position], topic_id, partitions[start + position : end : width])
            start = end

    def _add(self, number: int, topic_id: UUID, partitions: Collection[int]) -> None:
        self._owned[number].setdefault(topic_id, set()).update(partitions)
        self._loads[number] += len(partitions)
        self._changed[number] = True

    def _balance(self, topics: Sequence[UUID]) -> Generator[int, None, None]:
        """Repeat rounds over all topics until a whole round moves nothing."""
        unmoved = 0
        for _ in range(BALANCING_ROUNDS):
            for topic_id in topics:
                yield len(self._subscribers[topic_id])
                moved = yield from self._balance_topic(topic_id)
                unmoved = 0 if moved else unmoved + 1
                if unmoved >= len(topics):
                    return

    def _balance_topic(self, topic_id: UUID) -> Generator[int, None, bool]:
        """Move partitions from the most to the least loaded subscriber; return whether any was moved."""
        loads, owned, subscribers = self._loads, self._owned, self._subscribers[topic_id]
        subscribed = [loads[number] for number in subscribers]
        if max(subscribed) - min(subscribed) <= 1:
            return False
        # Entries with an outdated load are obsolete since a move.
        takers = [(loads[number], number) for number in subscribers]
        givers = [(-loads[number], -number) for number in subscribers if owned[number].get(topic_id)]
        heapify(takers)
        heapify(givers)
        # Sorted partitions of members that have lost some, for quick access to the last one.
        in_order: dict[int, list[int]] = {}
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
