"""A share coordinator alone; the test completes its writes."""

from uuid import UUID

import pytest

from kohort.coordinator.context import Shard
from kohort.coordinator.effects import Append
from kohort.coordinator.share_state.share_coordinator import ShareCoordinator, StateShard
from kohort.coordinator.share_state.share_partition_key import SharePartitionKey
from kohort.coordinator.share_state.share_state_loading import ShareStateLoading
from kohort.coordinator.share_state.state_batches import NO_BATCHES, StateBatch
from kohort.coordinator.share_state.state_outcome import StateOutcome
from kohort.coordinator.share_state.state_requests import (
    StateWrite,
    delete_state,
    initialize_state,
    read_state,
    summarize_state,
    write_state,
)
from kohort.coordinator.share_state.state_upkeep import redundant_before, snapshot_cold, topic_deleted_in_states
from kohort.protocol.batches import EncodedRecords, encode_record, keys_and_values, read_batches
from kohort.protocol.errors import ErrorCode as E
from kohort.protocol.records.layouts import SHARE_SNAPSHOT, SHARE_UPDATE
from kohort.protocol.records.schema import RecordError
from kohort.purgatory import Purgatory

TOPIC = UUID(int=1)
KEY = SharePartitionKey("g", TOPIC, 0)
MINUTE = 60_000


class World:
    """One coordinator that leads the one partition of the state topic."""

    def __init__(self, updates_per_snapshot: int = 500) -> None:
        self.coordinator = ShareCoordinator(
            Purgatory(),
            lambda topic_id, index: topic_id == TOPIC and index < 4,
            updates_per_snapshot=updates_per_snapshot,
            partitions=1,
        )
        self.coordinator.shards[0] = StateShard(Shard.ACTIVE, {})
        self.now_ms = 0
        self.log: list[bytes] = []
        self.heard: list[StateOutcome] = []

    def hears(self, outcome: StateOutcome, now_ms: int) -> None:
        self.heard.append(outcome)

    def errors(self) -> list[E]:
        """Return the responses since the last call."""
        heard, self.heard = self.heard, []
        return [response.error_code for response in heard]

    def initializes(self, state_epoch: int = 1, start_offset: int = 0, key: SharePartitionKey = KEY) -> None:
        initialize_state(self.coordinator, key, state_epoch, start_offset, self.hears, self.now_ms)

    def reads(self, leader_epoch: int = 0, key: SharePartitionKey = KEY) -> None:
        read_state(self.coordinator, key, leader_epoch, self.hears, self.now_ms)

    def writes(
        self, *batches: StateBatch, start: int = -1, leader_epoch: int = 0, key: SharePartitionKey = KEY
    ) -> None:
        write = StateWrite(1, leader_epoch, start, 0, batches)
        write_state(self.coordinator, key, write, self.hears, self.now_ms)

    def deletes(self, key: SharePartitionKey = KEY) -> None:
        delete_state(self.coordinator, key, self.hears, self.now_ms)

    def reported(self, error: E = E.none) -> int:
        """Complete pending writes, and return their number."""
        effects = list(self.coordinator.effects)
        self.coordinator.effects.clear()
        for effect in effects:
            assert isinstance(effect, Append)
            if error is E.none:
                self.log.append(effect.records.batch(effect.timestamp_ms))
            self.coordinator.appended(effect.token, error, self.now_ms, len(self.log) - 1)
        return len(effects)

    def settled(self) -> list[E]:
        """Complete all writes, and return the responses."""
        while self.coordinator.effects:
            self.reported()
        return self.errors()

    def loaded_again(self) -> ShareCoordinator:
        """Return another coordinator that has read the log."""
        other = ShareCoordinator(Purgatory(), self.coordinator.has_partition, partitions=1)
        loading = ShareStateLoading(other, 0)
        assert summarize_state(other, KEY).error_code is E.coordinator_load_in_progress
        _apply(loading, self.log)
        loading.finish(0)
        return other


def _apply(loading: ShareStateLoading, log: list[bytes]) -> None:
    for offset, batch in enumerate(log):
        for header in read_batches(batch):
            loading.apply_batch(batch, header._replace(base_offset=offset))


def test_reads_wait_for_pending_write() -> None:
    world = World()
    world.initializes()
    world.writes(StateBatch(0, 4, 2, 1))
    world.reads()
    assert world.errors() == []
    assert world.reported() == 1
    assert world.errors() == [E.none]
    assert world.reported() == 1
    assert [response.batches for response in world.heard] == [(), (StateBatch(0, 4, 2, 1),)]


def test_failed_write_changes_nothing() -> None:
    world = World()
    world.initializes()
    world.settled()
    world.writes(StateBatch(0, 4, 2, 1))
    world.reads()
    world.reported(E.kafka_storage_error)
    assert [(response.error_code, response.batches) for response in world.heard] == [
        (E.not_coordinator, NO_BATCHES),
        (E.none, NO_BATCHES),
    ]


def test_share_partitions_are_independent() -> None:
    world = World()
    for index in range(3):
        world.initializes(key=KEY._replace(partition=index))
    assert world.reported() == 3
    assert world.errors() == [E.none] * 3


def test_moved_coordinator_answers_waiting_requests() -> None:
    world = World()
    world.initializes()
    world.writes()
    world.reads()
    world.coordinator.unload(0, 0)
    assert world.errors() == [E.not_coordinator] * 3
    world.reported()
    assert world.errors() == []


def test_new_leader_fences_older_ones() -> None:
    world = World()
    world.initializes()
    world.reads(leader_epoch=3)
    assert world.settled() == [E.none, E.none]
    world.writes(leader_epoch=2)
    world.reads(leader_epoch=2)
    world.reads(leader_epoch=-1)
    world.writes(leader_epoch=-1)
    assert world.settled() == [E.fenced_leader_epoch] * 2 + [E.invalid_request, E.none]
    world.initializes(state_epoch=0)
    assert world.settled() == [E.fenced_state_epoch]


def test_unknown_state_is_rejected() -> None:
    world = World()
    world.reads()
    world.writes()
    world.deletes()
    world.initializes(key=KEY._replace(partition=-1))
    world.initializes(key=KEY._replace(partition=4))
    world.initializes(key=KEY._replace(topic_id=UUID(int=2)))
    unknown = E.unknown_topic_or_partition
    assert world.settled() == [E.invalid_request, E.invalid_request, E.none, E.invalid_request, unknown, unknown]
    summary = summarize_state(world.coordinator, KEY)
    assert (summary.error_code, summary.start_offset, summary.delivery_complete_count) == (E.none, -1, -1)
    assert summarize_state(world.coordinator, KEY._replace(partition=4)).error_code is unknown


def test_snapshot_follows_updates() -> None:
    world = World(updates_per_snapshot=2)
    world.initializes()
    for offset in range(10):
        world.writes(StateBatch(offset, offset, 2 if offset % 3 else 0, 1), start=max(offset - 4, 0))
        world.settled()
        again = world.loaded_again().shards[0].states
        assert again[KEY].batches == world.coordinator.shards[0].states[KEY].batches
        assert again == world.coordinator.shards[0].states
    assert world.coordinator.shards[0].states[KEY].snapshot_epoch == 3


@pytest.mark.parametrize("kind", [SHARE_SNAPSHOT, SHARE_UPDATE])
def test_damaged_record_fails_load(kind: int) -> None:
    world = World()
    world.initializes()
    world.writes(StateBatch(0, 4, 2, 1))
    world.settled()
    ((key, value),) = keys_and_values(world.log[kind], next(iter(read_batches(world.log[kind]))))
    assert key is not None
    assert value is not None
    bare = value[:-1].rpartition(b"\x02" if kind == SHARE_UPDATE else b"\x01")[0]  # up to the number of batches
    for damaged in (value[:-1], value[:3], b"", b"\x00\x01" + value[2:], bare + b"\xff\xff\xff\xff\x0f"):
        other = ShareCoordinator(Purgatory(), world.coordinator.has_partition, partitions=1)
        loading = ShareStateLoading(other, 0)
        with pytest.raises(RecordError):
            _apply(loading, [*world.log, EncodedRecords(encode_record(key, damaged, 0), 1).batch(0)])
        loading.fail()
        assert summarize_state(other, KEY).error_code is E.not_coordinator


def test_deleted_state_leaves_log() -> None:
    world = World()
    world.initializes()
    world.deletes()
    world.deletes()
    assert world.settled() == [E.none] * 3
    assert len(world.log) == 2, "nothing is written about what is not there"
    assert world.loaded_again().shards[0].states == {}
    world.initializes()
    world.settled()
    assert world.coordinator.shards[0].states[KEY].snapshot_epoch == 0


def test_topic_deletion_removes_states() -> None:
    world = World()
    for index in range(3):
        world.initializes(key=KEY._replace(partition=index))
    world.settled()
    list(topic_deleted_in_states(world.coordinator, UUID(int=9), 0))
    assert len(world.coordinator.shards[0].states) == 3
    list(topic_deleted_in_states(world.coordinator, TOPIC, 0))
    world.settled()
    assert world.coordinator.shards[0].states == world.loaded_again().shards[0].states == {}


def test_log_starts_at_oldest_needed_snapshot() -> None:
    world = World(updates_per_snapshot=1)
    other = KEY._replace(partition=1)
    for key in (KEY, other):
        world.initializes(key=key)
        world.settled()
    for _ in range(2):
        world.writes()
        world.settled()
    assert redundant_before(world.coordinator, 0, len(world.log)) == 1, "where the other share partition begins"
    world.now_ms = 5 * MINUTE
    list(snapshot_cold(world.coordinator, 5 * MINUTE, world.now_ms))
    assert redundant_before(world.coordinator, 0, len(world.log)) is None, "unknown while a write is pending"
    world.settled()
    states = dict(world.coordinator.shards[0].states)
    start = redundant_before(world.coordinator, 0, len(world.log))
    assert start == 4
    world.log[:start] = []
    again = world.loaded_again().shards[0].states
    assert {key: state.batches for key, state in again.items()} == {key: state.batches for key, state in states.items()}


def test_idle_state_is_not_rewritten() -> None:
    world = World()
    world.initializes()
    world.settled()
    for minutes, written in ((4, 0), (5, 1), (10, 0), (60, 0)):
        world.now_ms = minutes * MINUTE
        list(snapshot_cold(world.coordinator, 5 * MINUTE, world.now_ms))
        assert world.reported() == written
    world.deletes()
    world.settled()
    assert redundant_before(world.coordinator, 0, len(world.log)) == len(world.log)


def test_failing_callback_does_not_block_others() -> None:
    world = World()
    world.initializes()

    def fails(outcome: StateOutcome, now_ms: int) -> None:
        raise ValueError("our bug")

    read_state(world.coordinator, KEY, 0, fails, 0)
    world.reads()
    with pytest.raises(ValueError, match="our bug"):
        world.reported()
    world.writes()
    assert world.settled() == [E.none] * 3
