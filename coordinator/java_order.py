"""Iteration order of Kafka's hash maps, which decides between equally good assignments."""

from collections.abc import Callable, Iterable
from typing import TypeVar
from uuid import UUID

T = TypeVar("T")

_FEWEST_BUCKETS = 16
_LOAD_FACTOR = 0.75
_GOLDEN = -7046029254386353131  # multiplier of Fibonacci hashing in 64 bits


def in_map_order(
    items: Iterable[T],
    hash_of: Callable[[T], int],
    *,
    concurrent: bool = False,
    computed: bool = False,
    capacity: int = _FEWEST_BUCKETS,
) -> list[T]:
    """Return the items in the iteration order of Java's `HashMap`: by bucket, within a bucket in the given order.

    Args:
        concurrent: Use the order of a `ConcurrentHashMap`, which grows one item earlier.
        computed: Use the order after `computeIfAbsent`, which puts an item first in its bucket. The map grows one item
            later.
        capacity: Initial capacity of the map.
    """
    ordered = list(items)
    if computed:
        ordered.reverse()
    buckets = buckets_for(len(ordered) + concurrent - computed, capacity=capacity)
    return sorted(ordered, key=lambda item: bucket_of(hash_of(item), buckets))


def in_copied_map_order(items: Iterable[T], added: Iterable[T], hash_of: Callable[[T], int]) -> list[T]:
    """Return the items in the iteration order of a map that Kafka's assignors have copied and extended.

    Source: `AssignorHelpers.deepCopyAssignment`, followed by `computeIfAbsent`.

    Args:
        items: Those of the original map, in its order.
        added: Further items, in the order of insertion.
    """
    copied = list(items)
    inserted = [*reversed(copied), *added]
    return in_map_order(inserted, hash_of, computed=True, capacity=capacity_for(len(copied)))


def in_copied_set_order(items: Iterable[T], hash_of: Callable[[T], int]) -> list[T]:
    """Return the items in the iteration order of a `HashSet` that was made of another collection, with Java 17."""
    ordered = list(items)
    return in_map_order(ordered, hash_of, capacity=max(int(len(ordered) / _LOAD_FACTOR) + 1, _FEWEST_BUCKETS))


def numbers_in_copied_set_order(numbers: Iterable[int]) -> list[int]:
    """Return partitions in the order of `in_copied_set_order`."""
    ordered = sorted(numbers)
    return ordered if not ordered or ordered[-1] < _FEWEST_BUCKETS else in_copied_set_order(ordered, int)


def buckets_for(count: int, *, capacity: int = _FEWEST_BUCKETS) -> int:
    """Return the number of buckets of a `HashMap` that was created for `capacity` items and has `count`."""
    buckets = 1 << max(capacity - 1, 0).bit_length()
    while count > _LOAD_FACTOR * buckets:
        buckets *= 2
    return buckets


def bucket_of(hash_code: int, buckets: int) -> int:
    number = hash_code & 0xFFFFFFFF
    return (number ^ number >> 16) & (buckets - 1)


def capacity_for(count: int) -> int:
    """Return the capacity with which Kafka's assignors create a map of `count` items (`AssignorHelpers.newHashMap`)."""
    return int((count + 1) / _LOAD_FACTOR + 1)


def in_assignors_order(earlier: Iterable[T], added: Iterable[T], hash_of: Callable[[T], int], most: int) -> list[T]:
    """Return the members of a group in the order in which Kafka's assignors receive them.

    Args:
        earlier: Members that were in the group before.
        added: Members that join with this heartbeat, which come last.
        most: Maximum number of members so far, including `added`.
    """
    members, newcomers = list(earlier), list(added)
    table = most_in_table(len(members), len(newcomers), most)
    return in_map_order([*in_table_order(members, hash_of, table), *newcomers], hash_of)


def most_in_table(earlier: int, added: int, most: int) -> int:
    """Return the maximum number of members so far in Kafka's table, in which those that join are not yet."""
    return most if most > earlier + added else earlier


def in_table_order(items: Iterable[T], hash_of: Callable[[T], int], most: int = 0) -> list[T]:
    """Return the items in the iteration order of Kafka's `TimelineHashMap`, in which a coordinator keeps its state.

    They are ordered by slot, and within a slot the last one inserted is first. Confirmed with Apache Kafka 4.3.0.

    Args:
        items: In the order of insertion.
        most: Maximum number of items so far, because the table does not shrink.
    """
    reversed_items = list(items)
    reversed_items.reverse()
    bits = table_bits(max(len(reversed_items), most))
    return sorted(reversed_items, key=lambda item: slot_of(hash_of(item), bits))


def table_bits(most: int) -> int:
    """Return the binary logarithm of the number of slots of a `TimelineHashMap` that has had that many items."""
    bits = 1
    while (most + 1) * _LOAD_FACTOR > 1 << bits:
        bits += 1
    return bits


def slot_of(hash_code: int, bits: int) -> int:
    return (hash_code * _GOLDEN & (1 << 64) - 1) >> 64 - bits


def hash_of_partition(topic_hash: int, partition: int) -> int:
    """Return Java's hash of a partition, from that of its topic's name (Kafka: `TopicPartition.hashCode`)."""
    return 31 * (31 + partition) + topic_hash


def hash_of_id(topic_id: UUID) -> int:
    """Return Java's hash of a topic id (Kafka: `Uuid.hashCode`)."""
    halves = topic_id.int >> 64 ^ topic_id.int & (2**64 - 1)
    return (halves >> 32 ^ halves) & 0xFFFFFFFF


def hash_of_id_partition(topic_id: UUID, partition: int) -> int:
    """Return Java's hash of a partition, from its topic's id (Kafka's assignors: `TopicIdPartition.hashCode`)."""
    return 31 * hash_of_id(topic_id) + partition
