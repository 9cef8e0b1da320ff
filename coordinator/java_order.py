"""The order in which Kafka walks its hash maps, which decides between assignments that are equally good."""

from collections.abc import Callable, Iterable
from typing import TypeVar
from uuid import UUID

T = TypeVar("T")

_FEWEST_BUCKETS = 16
_LOAD_FACTOR = 0.75
_GOLDEN = -7046029254386353131
"""The multiplier of Fibonacci hashing in 64 bits."""


def in_map_order(
    items: Iterable[T], hash_of: Callable[[T], int], *, concurrent: bool = False, capacity: int = _FEWEST_BUCKETS
) -> list[T]:
    """The items as Java's `HashMap` is walked: by bucket. Within a bucket they stay as they are.

    `concurrent`: as its `ConcurrentHashMap`, which grows one item earlier. `capacity`: what the map was made for.
    """
    found = list(items)
    buckets = buckets_for(len(found) + concurrent, capacity=capacity)
    return sorted(found, key=lambda item: bucket_of(hash_of(item), buckets))


def buckets_for(count: int, *, capacity: int) -> int:
    """Return how many buckets a `HashMap` has that was made for `capacity` items and has got `count`."""
    buckets = 1 << max(capacity - 1, 0).bit_length()
    while count > _LOAD_FACTOR * buckets:
        buckets *= 2
    return buckets


def bucket_of(hash_code: int, buckets: int) -> int:
    """Return the bucket of an item, by its Java hash."""
    number = hash_code & 0xFFFFFFFF
    return (number ^ number >> 16) & (buckets - 1)


def capacity_for(count: int) -> int:
    """What Kafka's assignors ask a map for that is to hold that many items (`AssignorHelpers.newHashMap`)."""
    return int((count + 1) / _LOAD_FACTOR + 1)


def in_assignors_order(known: Iterable[T], added: Iterable[T], hash_of: Callable[[T], int], most: int) -> list[T]:
    """Members of a group as Kafka's assignors get them. Who joins with this heartbeat is added last.

    `known`: who has been in the group before. `most`: how many there have been at one time, `added` included.
    """
    members, newcomers = list(known), list(added)
    table = most if most > len(members) + len(newcomers) else len(members)  # who joins is not in the table yet
    return in_map_order([*in_table_order(members, hash_of, table), *newcomers], hash_of)


def in_table_order(items: Iterable[T], hash_of: Callable[[T], int], most: int = 0) -> list[T]:
    """The items as Kafka's `TimelineHashMap` is walked, in which a coordinator keeps its state.

    By slot; within one the last that came is the first. `items`: in the order in which they came. `most`: how many
    there have been at one time, as the table does not get smaller again. Confirmed with Apache Kafka 4.3.0.
    """
    found = list(items)
    found.reverse()
    bits = 1
    while (max(len(found), most) + 1) * _LOAD_FACTOR > 1 << bits:
        bits += 1
    return sorted(found, key=lambda item: (hash_of(item) * _GOLDEN & (1 << 64) - 1) >> 64 - bits)


def hash_of_partition(topic_hash: int, partition: int) -> int:
    """The hash of a partition, by that of its topic's name (Kafka: `TopicPartition.hashCode`)."""
    return 31 * (31 + partition) + topic_hash


def hash_of_id(topic_id: UUID) -> int:
    """The hash of a topic id (Kafka: `Uuid.hashCode`)."""
    halves = topic_id.int >> 64 ^ topic_id.int & (2**64 - 1)
    return (halves >> 32 ^ halves) & 0xFFFFFFFF


def hash_of_id_partition(topic_id: UUID, partition: int) -> int:
    """The hash of a partition, by its topic's id (Kafka's assignors: `TopicIdPartition.hashCode`)."""
    return 31 * hash_of_id(topic_id) + partition
