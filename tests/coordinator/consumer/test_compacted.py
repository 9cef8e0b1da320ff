"""A log of groups is compacted repeatedly while it grows, and cut after every batch: the loaded state is the same.

Groups change their protocol, are deleted and created again, and commit in transactions that end late or not at all.
Kafka itself has lost groups there (KAFKA-19862, KAFKA-20254).
"""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from kohort.coordinator.groups.loading import Loading
from kohort.coordinator.modern.modern_group import FIRST_EPOCH
from kohort.coordinator.offsets.offsets_topic_records import expiring_offset_value, offset_key
from kohort.protocol.batches import TRANSACTIONAL, Marker, marker_batch, read_batches
from kohort.storage.log import PartitionLog
from kohort.storage.producers import Producers, Remembered
from kohort.storage.topic_configs import LogConfig
from tests.coordinator.consumer.random_walk import Walk
from tests.coordinator.consumer.world import ConsumerWorld
from tests.support.batches import batch
from tests.support.consumer_groups import picture
from tests.support.coordinator_records import Record
from tests.support.seeds import SEEDS

STEPS = 120
SEGMENT_BYTES = 400
TOMBSTONES_STAY_MS = 50


class Logs:
    """One log of the offsets topic twice: as it was written, and as compaction leaves it."""

    def __init__(self, chance: Random) -> None:
        self.chance = chance
        self.whole = PartitionLog(LogConfig(delete=False, segment_bytes=SEGMENT_BYTES))
        self.compacted = PartitionLog(
            LogConfig(compact=True, delete=False, segment_bytes=SEGMENT_BYTES, delete_retention_ms=TOMBSTONES_STAY_MS)
        )
        self.producers = Producers()
        self.open: set[int] = set()
        self.now_ms = 1_000
        self._sequences: dict[int, int] = {}

    def writes(self, *records: Record) -> None:
        self._append(batch(*records, at=self.now_ms))

    def writes_in_transaction(self, producer_id: int, *records: Record) -> None:
        sequence = self._sequences.get(producer_id, 0)
        last = sequence + len(records) - 1
        self._sequences[producer_id] = last + 1
        made = batch(*records, at=self.now_ms, attributes=TRANSACTIONAL, producer=(producer_id, 0, sequence))
        offset = self._append(made)
        remembered = Remembered(sequence, last, offset, self.now_ms)
        self.producers.appended(producer_id, 0, remembered, self.now_ms, transactional=True)
        self.open.add(producer_id)

    def ends(self, producer_id: int) -> None:
        committed = self.chance.random() < 0.6
        offset = self._append(marker_batch(Marker(committed, 0), producer_id, 0, self.now_ms))
        self.producers.ended(producer_id, 0, offset, 0, self.now_ms, committed=committed)
        self.open.discard(producer_id)

    def _append(self, made: bytes) -> int:
        self.whole.append(made, wall_ms=self.now_ms)
        offset = self.compacted.append(made, wall_ms=self.now_ms)
        self.now_ms += self.chance.choice([0, 1, 20])
        return offset

    def compacts(self) -> None:
        for _ in self.compacted.compact(self.now_ms, self.producers):
            pass


def commits(chance: Random, now_ms: int, taken_back: float) -> list[Record]:
    """Return offsets of a group, some of them deleted again. Transactions contain no deletions."""
    keys = [offset_key("g", "foo", chance.randrange(3)) for _ in range(chance.randint(1, 3))]
    return [
        (key, None if chance.random() < taken_back else expiring_offset_value(chance.randrange(100), "", now_ms, -1))
        for key in dict.fromkeys(keys)
    ]


def loaded(log: PartitionLog, world: ConsumerWorld) -> dict[str, Any]:
    """Return the state of a coordinator that loads the log."""
    other = ConsumerWorld()
    other.topics = other.coordinator.topics = world.topics
    other.coordinator.shards = {}
    loading = Loading(other.coordinator, 0)
    for chunk in log.batches():
        for each in read_batches(chunk):
            loading.apply_batch(chunk, each)
    loading.finish(1_000_000)
    known = picture(other.coordinator)
    for emptied in other.coordinator.of_type("consumer"):
        # Its tombstone sets -1, as in Kafka, and may be removed before the last tombstone of the group arrives.
        if not emptied.members and emptied.target_epoch == -1:
            known[emptied.group_id]["target epoch"] = (FIRST_EPOCH, 0)
    for group in other.coordinator.groups.values():
        topics = {} if group.offsets is None else group.offsets.topics
        known[f"offsets of {group.group_id}"] = {
            (topic, partition): each.offset for topic, offsets in topics.items() for partition, each in offsets.items()
        }
        known[f"pending of {group.group_id}"] = set(group.pending_offsets or ())
    return known


@pytest.mark.parametrize("seed", SEEDS)
def test_compacted_log_equals_whole_log(seed: int) -> None:
    chance = Random(seed)
    walk = Walk(seed, failing=False)
    world, logs, cuts = walk.world, Logs(chance), 0
    for _ in range(STEPS):
        known = len(world.log[0])
        walk.step()
        fresh = world.log[0][known:]
        batches = []
        while fresh:
            size = chance.randint(1, 4)
            batches.append(fresh[:size])
            fresh = fresh[size:]
        if chance.random() < 0.3:
            batches.append(commits(chance, logs.now_ms, 0.2))
        for records in batches:
            logs.writes(*records)
            if chance.random() < 0.3:
                logs.writes_in_transaction(chance.randrange(3), *commits(chance, logs.now_ms, 0.0))
            if logs.open and chance.random() < 0.3:
                logs.ends(chance.choice(sorted(logs.open)))
            if chance.random() < 0.5:
                logs.compacts()
            assert loaded(logs.compacted, world) == loaded(logs.whole, world), f"KOHORT_SEED={seed}, cut {cuts}"
            cuts += 1
    assert logs.compacted.size_bytes < logs.whole.size_bytes
