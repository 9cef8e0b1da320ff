"""Share coordinators of real nodes: asked over the wire and by the persister, moved, killed, and kept short."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from kohort.broker.cluster.broker_hooks import BrokerHooks, Report
from kohort.broker.cluster.moving import move_leader, stop_node
from kohort.coordinator.context import CoordinatorContext
from kohort.coordinator.effects import Append
from kohort.coordinator.share_state.share_partition_key import SharePartitionKey, TopicIdPartition
from kohort.coordinator.share_state.state_batches import StateBatch, StateBatches
from kohort.coordinator.share_state.state_outcome import StateOutcome
from kohort.coordinator.share_state.state_requests import StateWrite
from kohort.protocol.errors import ErrorCode as E
from kohort.protocol.messages.delete_topics import DeleteTopicState
from kohort.protocol.messages.read_share_group_state import PartitionData, ReadStateData
from kohort.storage.disk.directory import DataDirectory
from kohort.storage.refusal import Refusal
from kohort.storage.topic import Partition, Topic
from tests.support.broker import Broker

GROUP = "g"


class World:
    """A broker with a topic of two partitions, and the responses of its persister."""

    def __init__(self, broker: Broker | None = None, **settings: Any) -> None:
        self.broker = broker or Broker(**settings)
        topics = self.broker.cluster.topics
        created = topics.by_name("t") or topics.create("t", 2, 1)
        assert not isinstance(created, Refusal)
        self.topic: Topic = created
        self.heard: dict[TopicIdPartition, StateOutcome] | None = None

    @property
    def which(self) -> TopicIdPartition:
        return self.topic.topic_id, 0

    def hears(self, outcomes: dict[TopicIdPartition, StateOutcome], now_ms: int) -> None:
        assert self.heard is None, "all partitions are answered at once, and only once"
        self.heard = dict(outcomes)

    def errors(self) -> list[E] | None:
        """Return the errors since the last call, or None without a response."""
        heard, self.heard = self.heard, None
        return None if heard is None else [each.error_code for each in heard.values()]

    def asks(self, what: str, partitions: Any) -> None:
        """Let the persister send a request, and run its effects."""
        persister = self.broker.cluster.share_persister
        self.broker.server.act(partial(getattr(persister, what), GROUP, partitions, self.hears))

    def initializes(self, *indexes: int) -> None:
        self.asks("initialize", {(self.topic.topic_id, index): (1, 0) for index in indexes})

    def reads(self) -> StateOutcome:
        self.asks("read", {self.which: 0})
        assert self.heard is not None
        (outcome,) = self.heard.values()
        self.heard = None
        return outcome

    def writes(self, *batches: StateBatch, start: int = 0) -> None:
        self.asks("write", {self.which: StateWrite(1, 0, start, 0, batches)})

    @property
    def state_topic(self) -> Topic:
        topic = self.broker.cluster.topics.by_name("__share_group_state")
        assert topic is not None
        return topic

    @property
    def home(self) -> Partition:
        """The partition in which the state of the first partition lies."""
        key = SharePartitionKey(GROUP, *self.which)
        return self.state_topic.partitions[self.broker.cluster.nodes[0].share_coordinator.partition_of(key)]


def test_share_modules_load_on_demand() -> None:
    broker = Broker()
    assert "__share_group_state" not in broker.cluster.topics
    client = broker.client()
    keys = (SharePartitionKey(GROUP, UUID(int=1), 0).text,)
    asked = client.asks("find_coordinator", 6, key_type=2, coordinator_keys=keys)
    assert (asked.coordinators[0].error_code, asked.coordinators[0].node_id) == (E.none, 1)


def test_persister_creates_topic() -> None:
    world = World()
    world.initializes(0, 1)
    assert world.errors() == [E.none, E.none]
    assert world.state_topic.configs["cleanup.policy"] == "delete"
    world.writes(StateBatch(0, 4, 2, 1))
    assert world.errors() == [E.none]
    assert world.reads().batches == (StateBatch(0, 4, 2, 1),)
    world.asks("read_summary", {world.which: 0})
    assert world.errors() == [E.none]
    world.asks("delete", [world.which])
    assert world.errors() == [E.none]
    assert world.reads().error_code is E.invalid_request
    world.asks("delete", [])
    assert world.errors() == []


def test_missing_topic_exhausts_retries() -> None:
    world = World(share_coordinator_state_topic_replication_factor=3)
    world.initializes(0)
    for pause_ms in (2_000, 4_000, 8_000, 16_000):
        assert world.errors() is None
        world.broker.loop.wait(pause_ms)
    assert world.errors() == [E.coordinator_not_available]


class FailsOnce(BrokerHooks):
    """The first write to a log fails, as with too few copies."""

    def __init__(self) -> None:
        self.failed = 0

    def refuses(self, coordinator: CoordinatorContext, effect: Append) -> E | None:
        self.failed += 1
        return E.not_enough_replicas if self.failed == 1 else None


class FailsLate(FailsOnce):
    """Write whose outcome is known when it is reported."""

    def __init__(self) -> None:
        super().__init__()
        self.outcome: Report | None = None

    def holds(self, effect: Append, report: Report) -> bool:
        if self.failed == 1:
            self.outcome = report
        return self.failed == 1


class Writers:
    """Outcomes of writes of the share partition in order, with the start offset and error of each."""

    def __init__(self, world: World) -> None:
        self._world = world
        self.heard: list[tuple[int, E]] = []

    def writes(self, start: int) -> None:
        world = self._world

        def then(outcomes: dict[TopicIdPartition, StateOutcome], now_ms: int) -> None:
            self.heard.append((start, outcomes[world.which].error_code))

        write = StateWrite(1, 0, start, 0, ())
        persister = world.broker.cluster.share_persister
        world.broker.server.act(partial(persister.write, GROUP, {world.which: write}, then))


def test_later_write_waits_behind_retry() -> None:
    world = World()
    world.initializes(0)
    assert world.errors() == [E.none]
    world.broker.cluster.hooks = FailsOnce()
    writers = Writers(world)
    for start in (3, 5, 9):
        writers.writes(start)
    assert writers.heard == []
    world.asks("read_summary", {world.which: 0})
    assert world.errors() == [E.none], "who only looks need not wait"
    world.broker.loop.wait(2_100)
    assert writers.heard == [(3, E.none), (5, E.none), (9, E.none)]
    assert world.reads().start_offset == 9
    writers.writes(11)
    assert writers.heard[-1] == (11, E.none), "no request waits"


def test_request_waits_behind_retried_write() -> None:
    world = World()
    world.initializes(0)
    assert world.errors() == [E.none]
    hooks = world.broker.cluster.hooks = FailsLate()
    writers = Writers(world)
    writers.writes(3)
    writers.writes(5)
    world.asks("read", {world.which: 0})
    assert hooks.outcome is not None
    world.broker.server.act(hooks.outcome)
    assert writers.heard == []
    assert world.heard is None, "who reads would not know what is written after that"
    world.broker.loop.wait(2_100)
    assert writers.heard == [(3, E.none), (5, E.none)]
    assert world.heard is not None
    assert world.heard[world.which].start_offset == 5


def test_summary_of_missing_topic() -> None:
    world = World()
    world.asks("read_summary", {(world.topic.topic_id, 7): 0})
    world.broker.loop.wait(29_999)
    assert world.errors() is None
    world.broker.loop.wait(1)
    assert world.errors() == [E.unknown_topic_or_partition]


@pytest.mark.parametrize("how", ["moved", "stopped"])
def test_moved_coordinator_keeps_states(how: str) -> None:
    world = World(nodes=2, share_coordinator_state_topic_replication_factor=2)
    world.initializes(0)
    assert world.errors() == [E.none]
    world.writes(StateBatch(0, 4, 2, 1), start=2)
    assert world.errors() == [E.none]
    cluster, home = world.broker.cluster, world.home
    leader = cluster.node(home.leader)
    assert leader is not None
    if how == "moved":
        world.broker.server.act(partial(move_leader, cluster, world.state_topic, home, 3 - home.leader))
    else:
        world.broker.server.act(partial(stop_node, cluster, leader))
    assert home.leader != leader.id
    assert home.index not in leader.share_coordinator.shards
    world.asks("read", {world.which: 0})
    world.broker.loop.wait(2_000)
    assert world.heard is not None
    outcome = world.heard[world.which]
    assert (outcome.start_offset, outcome.batches) == (2, StateBatches.of([StateBatch(2, 4, 2, 1)]))


def test_killed_broker_keeps_states(tmp_path: Path) -> None:
    directory = DataDirectory(tmp_path)
    world = World(Broker(directory=directory))
    world.initializes(0)
    world.errors()
    world.writes(StateBatch(0, 4, 2, 1), start=3)
    assert world.errors() == [E.none]
    directory.abandon()
    new_world = World(Broker(directory=DataDirectory(tmp_path)))
    assert new_world.topic.topic_id == world.topic.topic_id
    outcome = new_world.reads()
    assert (outcome.state_epoch, outcome.start_offset, outcome.batches) == (
        1,
        3,
        StateBatches.of([StateBatch(3, 4, 2, 1)]),
    )


def test_topic_deletion_removes_states() -> None:
    world = World()
    world.initializes(0, 1)
    client = world.broker.client()
    states = [node.share_coordinator for node in world.broker.cluster.nodes]
    assert sum(len(shard.states) for state in states for shard in state.shards.values()) == 2
    client.asks("delete_topics", 5, topics=(DeleteTopicState(name="t"),), timeout_ms=1_000)
    assert sum(len(shard.states) for state in states for shard in state.shards.values()) == 0


def test_obsolete_records_are_compacted() -> None:
    world = World(share_coordinator_snapshot_update_records_per_snapshot=2)
    world.initializes(0)
    for offset in range(9):
        world.errors()
        world.writes(StateBatch(offset, offset, 2, 1))
    log = world.home.log
    assert (log.log_start_offset, log.log_end_offset) == (0, 10)
    world.broker.loop.wait(300_100)
    assert log.log_start_offset == 9
    world.errors()
    assert world.reads().batches == (StateBatch(0, 8, 2, 1),)


def test_coordinator_without_partitions_reports_it() -> None:
    world = World(nodes=2)
    world.initializes(0)
    other = world.broker.client(2 - world.home.leader)
    topic_state = ReadStateData(topic_id=world.topic.topic_id, partitions=(PartitionData(partition=0, leader_epoch=0),))
    answered = other.asks("read_share_group_state", 0, group_id=GROUP, topics=(topic_state,))
    assert answered.results[0].partitions[0].error_code is E.not_coordinator
