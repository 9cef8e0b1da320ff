"""Assignor of share groups, `simple` (share-groups §5; Kafka 4.2+: `SimpleAssignor`).

A partition may be assigned to several members. Members have about the same number of partitions, partitions have the
same number of members, and as few assignments as possible change. Which ones change depends on the iteration order of
Kafka's hash maps (seen in Apache Kafka 4.3.0).
"""

from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Mapping, Sequence
from itertools import islice, pairwise
from typing import Final, NamedTuple, TypeVar
from uuid import UUID

from kohort.coordinator.java_order import (
    bucket_of,
    buckets_for,
    capacity_for,
    hash_of_id,
    hash_of_id_partition,
    in_map_order,
)
from kohort.coordinator.modern.modern_values import Target
from kohort.coordinator.modern.preparing import Assigning

TopicIdPartition = tuple[UUID, int]


class Subscriber(NamedTuple):
    """Member, from the assignor's point of view."""

    member_id: str
    topics: frozenset[UUID]  # existing topics it subscribes to
    target: Target  # previous target


AT_ONCE: Final = 256  # partitions that are processed between two yields

EFFORT: Final = 2  # effort per partition and step; see `Assigning`

T = TypeVar("T")

# Java's hash of partition 0 of a topic in Kafka's maps; that of another partition is larger by its number
_HashOfTopic = Callable[[UUID], int]


def assigning(
    members: Sequence[Subscriber], assignable: Mapping[UUID, frozenset[int]], *, homogeneous: bool
) -> Assigning:
    """Compute the target of each member, by member id.

    Args:
        members: In the order in which Kafka's assignors get them.
        assignable: The partitions of all topics that a member subscribes to, in the order of Kafka's set of names.
        homogeneous: Whether all members subscribe to the same topics. If so, all partitions are distributed together,
            otherwise topic by topic.
    """
    topics = list(assignable)
    parts = []
    if homogeneous:
        partitions: list[TopicIdPartition] = []
        for topic_id in topics:
            partitions += yield from _partitions_of(topic_id, assignable[topic_id])
        parts.append((yield from _distribute(members, topics, partitions, _hash_of_id)))
    else:
        subscribers: dict[UUID, list[Subscriber]] = {}
        for member in members:
            for chunk in _chunks(member.topics):
                for topic_id in chunk:
                    subscribers.setdefault(topic_id, []).append(member)
                yield EFFORT * len(chunk)
        for topic_id in topics:
            partitions = yield from _partitions_of(topic_id, assignable[topic_id])
            parts.append(
                (yield from _distribute(subscribers.get(topic_id, ()), [topic_id], partitions, _hash_of_number))
            )
    assigned: dict[str, dict[UUID, set[int]]] = {member.member_id: {} for member in members}
    for part in parts:
        for member_id, partitions_of_member in part.items():
            target = assigned[member_id]
            for chunk_of_partitions in _chunks(partitions_of_member):
                for topic_id, partition in chunk_of_partitions:
                    target.setdefault(topic_id, set()).add(partition)
                yield EFFORT * len(chunk_of_partitions)
    targets: dict[str, Target] = {}
    for member_id, target in assigned.items():
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
    for chunk in _chunks(sorted(numbers)):
        partitions += [(topic_id, number) for number in chunk]
        yield EFFORT * len(chunk)
    return partitions


def _hash_of_id(topic_id: UUID) -> int:
    return hash_of_id_partition(topic_id, 0)


def _hash_of_number(topic_id: UUID) -> int:
    """Return the hash for partitions of one topic: in Kafka the keys are integers then."""
    return 0


def _in_map_order(
    partitions: Collection[TopicIdPartition], hash_of_topic: _HashOfTopic, *, capacity: int = 16, computed: bool = False
) -> Generator[int, None, list[TopicIdPartition]]:
    """Sort partitions like `java_order.in_map_order`, in steps."""
    buckets = buckets_for(len(partitions) - computed, capacity=capacity)
    filled: dict[int, list[TopicIdPartition]] = {}
    hashes: dict[UUID, int] = {}
    for chunk in _chunks(partitions):
        for partition in chunk:
            topic_id, number = partition
            topic_hash = hashes.get(topic_id)
            if topic_hash is None:
                topic_hash = hashes[topic_id] = hash_of_topic(topic_id)
            filled.setdefault(bucket_of(topic_hash + number, buckets), []).append(partition)
        yield 3 * EFFORT * len(chunk)
    ordered: list[TopicIdPartition] = []
    for some_buckets in _chunks(range(buckets)):
        for bucket in some_buckets:
            in_bucket = filled.get(bucket, ())
            ordered += reversed(in_bucket) if computed else in_bucket
        yield EFFORT * len(some_buckets) // 2
    return ordered


def _distribute(
    members: Sequence[Subscriber],
    topics: Sequence[UUID],
    partitions: list[TopicIdPartition],
    hash_of_topic: _HashOfTopic,
) -> Generator[int, None, dict[str, Iterable[TopicIdPartition]]]:
    if not members or not partitions:
        return {}
    sharing = -(-len(members) // len(partitions))
    plan = _Plan(sharing, desired_counts(len(members), len(partitions), sharing), hash_of_topic)
    yield from plan.fill(members, topics, partitions)
    yield from plan.take_from_overloaded_members()
    yield from plan.take_from_overshared_partitions()
    yield from plan.hand_out()
    return {member.member_id: assigned for member, assigned in zip(members, plan.assigned, strict=True)}


def desired_counts(members: int, partitions: int, sharing: int) -> list[int]:
    """Return the number of partitions that each member is to have, if `sharing` members have each partition."""
    total = sharing * partitions
    ends = [-(-total * number // members) for number in range(members + 1)]
    return [end - start for start, end in pairwise(ends)]


class _Plan:
    """Distribution in progress. Members are numbers; all methods yield their effort."""

    def __init__(self, sharing: int, desired: list[int], hash_of_topic: _HashOfTopic) -> None:
        self._sharing = sharing
        self._desired = desired
        self._hash_of_topic = hash_of_topic
        self.assigned: list[dict[TopicIdPartition, None]] = [{} for _ in desired]
        self._sharers: dict[TopicIdPartition, set[int]] = {}

    def fill(
        self, members: Sequence[Subscriber], topics: Sequence[UUID], partitions: list[TopicIdPartition]
    ) -> Generator[int, None, None]:
        assignable: set[TopicIdPartition] = set()
        for chunk in _chunks(partitions):
            assignable.update(chunk)
            yield EFFORT * len(chunk)
        sharers: dict[TopicIdPartition, set[int]] = {}
        for number, member in enumerate(members):
            for topic_id in in_map_order([topic for topic in topics if topic in member.target], hash_of_id):
                # Kafka's order depends on the history of the set, if some numbers differ by a multiple of its size.
                for some_numbers in _chunks(sorted(member.target[topic_id])):
                    for index in some_numbers:
                        if (topic_partition := (topic_id, index)) in assignable:
                            sharers.setdefault(topic_partition, set()).add(number)
                            self.assigned[number][topic_partition] = None
                    yield 2 * EFFORT * len(some_numbers)
            yield EFFORT
        unassigned: list[TopicIdPartition] = []
        for chunk in _chunks(partitions):
            unassigned += [topic_partition for topic_partition in chunk if topic_partition not in sharers]
            yield EFFORT * len(chunk)
        ordered = yield from _in_map_order(
            [*sharers, *unassigned], self._hash_of_topic, capacity=capacity_for(len(partitions)), computed=True
        )
        for chunk in _chunks(ordered):
            for topic_partition in chunk:
                self._sharers[topic_partition] = sharers.get(topic_partition) or set()
            yield EFFORT * len(chunk)

    def _take(self, partition: TopicIdPartition, number: int) -> None:
        self._sharers[partition].remove(number)
        del self.assigned[number][partition]

    def _lacking(self) -> list[int]:
        return [number for number, assigned in enumerate(self.assigned) if len(assigned) < self._desired[number]]

    def take_from_overloaded_members(self) -> Generator[int, None, None]:
        for number, assigned in enumerate(self.assigned):
            surplus = len(assigned) - self._desired[number]
            if surplus > 0:
                ordered = yield from _in_map_order(assigned, self._hash_of_topic)
                for chunk in _chunks(ordered[:surplus]):
                    for partition in chunk:
                        self._take(partition, number)
                    yield EFFORT * len(chunk)
            yield EFFORT

    def take_from_overshared_partitions(self) -> Generator[int, None, None]:
        for chunk in _chunks(self._sharers):
            for partition in chunk:
                sharers = self._sharers[partition]
                surplus = len(sharers) - self._sharing
                if surplus > 0:
                    for number in in_map_order(sorted(sharers), int)[:surplus]:
                        self._take(partition, number)
            yield EFFORT * len(chunk)

    def hand_out(self) -> Generator[int, None, None]:
        """Assign partitions that have too few members to members that have too few partitions, in rounds.

        Like Kafka, stop after the first round without an assignment, even if partitions remain.
        """
        waiting = self._lacking()
        round_: Iterator[int] = iter(waiting)
        has_assigned = False
        for chunk in _chunks(self._sharers):
            for partition in chunk:
                sharers = self._sharers[partition]
                while len(sharers) < self._sharing and waiting:
                    number = next(round_, None)
                    if number is None:
                        if not has_assigned:
                            return
                        waiting = self._lacking()
                        round_, has_assigned = iter(waiting), False
                    elif number not in sharers:
                        sharers.add(number)
                        self.assigned[number][partition] = None
                        has_assigned = True
            yield 2 * EFFORT * len(chunk)
