"""Groups are described in the order in which Kafka does it."""

from __future__ import annotations

from kohort.broker.scheduling.cooperative import finished
from kohort.coordinator.groups.describing import as_answered
from kohort.coordinator.groups.group_placement import partition_for
from tests.support.coordinator_world import World


def test_described_groups_follow_hash_order() -> None:
    coordinator = World().coordinator
    coordinator.partitions = 50
    names = [f"group-{number}" for number in range(12)]
    ordered = finished(as_answered(coordinator, [*names, names[3]]))
    partitions = [partition_for(name, 50) for name in ordered]
    assert sorted(ordered) == sorted([*names, names[3]])
    assert len(dict.fromkeys(partitions)) == sum(
        first != second for first, second in zip(partitions, [*partitions[1:], None], strict=True)
    ), "each partition once"
    together = ordered.index(names[3])
    assert ordered[together : together + 2] == [names[3]] * 2
    # In Java: a TopicPartition's hash is 31 * (31 + p) + "__consumer_offsets".hashCode().
    hashes = [(31 * (31 + partition) - 970371369) & 0xFFFFFFFF for partition in dict.fromkeys(partitions)]
    buckets = [(item ^ item >> 16) & 15 for item in hashes]
    assert buckets == sorted(buckets)
