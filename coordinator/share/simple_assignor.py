"""The assignor of share groups, `simple` (share-groups §5; Kafka 4.2+: `SimpleAssignor`).

Several members may have one partition. Each has about as many as the others, each partition is shared by as many as any
other, and everybody keeps as much as that allows. Who gives up and who is given what goes by the order of Kafka's hash
maps (seen in Apache Kafka 4.3.0).
"""

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from itertools import islice, pairwise
from typing import Final, NamedTuple, TypeVar
from uuid import UUID

from kohort.coordinator.java_order import bucket_of, buckets_for, capacity_for, hash_of_id_partition
from kohort.coordinator.modern.modern_values import Target
from kohort.coordinator.modern.preparing import Assigning

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


AT_ONCE: Final = 256
"""Partitions that are worked on between two yields."""

EFFORT: Final = 2
"""Effort for one partition in one step of the assignor; see `Assigning`."""

T = TypeVar("T")

_Order = Callable[[Iterable[TopicIdPartition], int], Generator[int, None, list[TopicIdPartition]]]
"""Sorts partitions in the iteration order of Kafka's map, which is made for that many of them."""


def assigning(
    members: Sequence[Subscriber], assignable: Mapping[UUID, frozenset[int]], *, homogeneous: bool
) -> Assigning:
    """Compute the target of each member, by its id.

    Args:
        members: In the order in which Kafka's assignors get them.
        assignable: The partitions of all topics that a member subscribes to.
        homogeneous: Whether all members subscribe to the same topics, so that all partitions are shared out at once;
            otherwise each topic by itself.
    """
    topics = sorted(assignable, key=_int_of)
    shares = []
    if homogeneous:
        partitions: list[TopicIdPartition] = []
        for topic_id in topics:
            partitions += yield from _partitions_of(topic_id, assignable[topic_id])
        shares.append((yield from _share_out(members, topics, partitions, _by_hash)))
    else:
        subscribers: dict[UUID, list[Subscriber]] = {}
        for member in members:
            for some in _chunks(member.topics):
                for topic_id in some:
                    subscribers.setdefault(topic_id, []).append(member)
                yield EFFORT * len(some)
        for topic_id in topics:
            partitions = yield from _partitions_of(topic_id, assignable[topic_id])
            shares.append((yield from _share_out(subscribers.get(topic_id, ()), [topic_id], partitions, _by_number)))
    has: dict[str, dict[UUID, set[int]]] = {member.member_id: {} for member in members}
    for share in shares:
        for member_id, given in share.items():
            target = has[member_id]
            for few in _chunks(given):
                for topic_id, partition in few:
                    target.setdefault(topic_id, set()).add(partition)
                yield EFFORT * len(few)
    targets: dict[str, Target] = {}
    for member_id, target in has.items():
        targets[member_id] = {topic_id: frozenset(target[topic_id]) for topic_id in sorted(target, key=_int_of)}
        yield EFFORT * (1 + len(target))
    return targets


def _int_of(topic_id: UUID) -> int:
    return topic_id.int  # UUIDs compare slowly


def _chunks(items: Iterable[T]) -> Iterator[list[T]]:
    iterator = iter(items)
    while chunk := list(islice(iterator, AT_ONCE)):
        yield chunk


def _partitions_of(topic_id: UUID, numbers: frozenset[int]) -> Generator[int, None, list[TopicIdPartition]]:
    partitions: list[TopicIdPartition] = []
    for some in _chunks(sorted(numbers)):
        partitions += [(topic_id, number) for number in some]
        yield EFFORT * len(some)
    return partitions


def _by_hash(partitions: Iterable[TopicIdPartition], made_for: int) -> Generator[int, None, list[TopicIdPartition]]:
    """Sort by bucket, as `in_map_order` does. Within a bucket the order stays."""
    found = list(partitions)
    buckets = buckets_for(len(found), capacity=made_for)
    filled: dict[int, list[TopicIdPartition]] = {}
    hashes: dict[UUID, int] = {}
    for some in _chunks(found):
        for partition in some:
            topic_id, number = partition
            topic_hash = hashes.get(topic_id)
            if topic_hash is None:
                topic_hash = hashes[topic_id] = hash_of_id_partition(topic_id, 0)
            filled.setdefault(bucket_of(topic_hash + number, buckets), []).append(partition)
        yield 3 * EFFORT * len(some)
    ordered: list[TopicIdPartition] = []
    for few in _chunks(range(buckets)):
        for bucket in few:
            ordered += filled.get(bucket, ())
        yield EFFORT * len(few) // 2
    return ordered


def _by_number(partitions: Iterable[TopicIdPartition], made_for: int) -> Generator[int, None, list[TopicIdPartition]]:
    """Sort partitions of one topic, which are numbers in Kafka; small numbers are their own hashes."""
    by_number = {number: (topic_id, number) for topic_id, number in partitions}
    yield EFFORT * (1 + len(by_number))
    return [by_number[number] for number in sorted(by_number)]


def _share_out(
    members: Sequence[Subscriber], topics: Sequence[UUID], partitions: list[TopicIdPartition], order: _Order
) -> Generator[int, None, dict[str, Iterable[TopicIdPartition]]]:
    """Compute what each member has of these partitions, by its id."""
    if not members or not partitions:
        return {}
    sharing = -(-len(members) // len(partitions))
    plan = _Plan(sharing, desired_counts(len(members), len(partitions), sharing), order)
    yield from plan.fill(members, topics, partitions)
    yield from plan.take_from_who_has_too_much()
    yield from plan.take_from_shared_by_too_many()
    yield from plan.hand_out()
    return {member.member_id: has for member, has in zip(members, plan.has, strict=True)}


def desired_counts(members: int, partitions: int, sharing: int) -> list[int]:
    """Return how many partitions each member is to have, if each partition is shared by `sharing` members."""
    total = sharing * partitions
    ends = [-(-total * number // members) for number in range(members + 1)]
    return [after - before for before, after in pairwise(ends)]


class _Plan:
    """Who has what, while it is being shared out. Members go by their numbers. All methods yield their effort."""

    def __init__(self, sharing: int, wanted: list[int], order: _Order) -> None:
        self._sharing = sharing
        self._wanted = wanted
        self._order = order
        self.has: list[dict[TopicIdPartition, None]] = [{} for _ in wanted]
        self._sharers: dict[TopicIdPartition, set[int]] = {}

    def fill(
        self, members: Sequence[Subscriber], topics: Sequence[UUID], partitions: list[TopicIdPartition]
    ) -> Generator[int, None, None]:
        """Take over what members have now of these topics, in the order of Kafka's maps."""
        assignable: set[TopicIdPartition] = set()
        for some in _chunks(partitions):
            assignable.update(some)
            yield EFFORT * len(some)
        sharers: dict[TopicIdPartition, set[int]] = {}
        for number, member in enumerate(members):
            for topic_id in [each for each in topics if each in member.target]:
                for some_numbers in _chunks(sorted(member.target[topic_id])):
                    for index in some_numbers:
                        if (each := (topic_id, index)) in assignable:
                            sharers.setdefault(each, set()).add(number)
                            self.has[number][each] = None
                    yield 2 * EFFORT * len(some_numbers)
            yield EFFORT
        others: list[TopicIdPartition] = []
        for some in _chunks(partitions):
            others += [each for each in some if each not in sharers]
            yield EFFORT * len(some)
        walked = yield from self._order([*sharers, *others], capacity_for(len(partitions)))
        for some in _chunks(walked):
            for each in some:
                self._sharers[each] = sharers.get(each) or set()
            yield EFFORT * len(some)

    def _take(self, partition: TopicIdPartition, number: int) -> None:
        self._sharers[partition].remove(number)
        del self.has[number][partition]

    def _lacking(self) -> list[int]:
        return [number for number, has in enumerate(self.has) if len(has) < self._wanted[number]]

    def take_from_who_has_too_much(self) -> Generator[int, None, None]:
        """Take what comes first in a member's map first."""
        for number, has in enumerate(self.has):
            surplus = len(has) - self._wanted[number]
            if surplus > 0:
                ordered = yield from self._order(has, 0)
                for some in _chunks(ordered[:surplus]):
                    for partition in some:
                        self._take(partition, number)
                    yield EFFORT * len(some)
            yield EFFORT

    def take_from_shared_by_too_many(self) -> Generator[int, None, None]:
        """Take from the first members first."""
        for some in _chunks(self._sharers):
            for partition in some:
                sharers = self._sharers[partition]
                surplus = len(sharers) - self._sharing
                if surplus > 0:
                    for number in sorted(sharers)[:surplus]:
                        self._take(partition, number)
            yield EFFORT * len(some)

    def hand_out(self) -> Generator[int, None, None]:
        """Go round among members that have too little, with all partitions that too few share.

        It ends with the first round in which no member is given anything, as in Kafka, whatever is left then.
        """
        waiting = self._lacking()
        round_: Iterator[int] = iter(waiting)
        given = False
        for some in _chunks(self._sharers):
            for partition in some:
                sharers = self._sharers[partition]
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
            yield 2 * EFFORT * len(some)
