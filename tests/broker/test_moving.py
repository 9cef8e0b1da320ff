"""Leadership that moves while something is under way."""

import pytest

from kohort.broker.cluster import replay
from kohort.broker.cluster.moving import MoveError, move_leader, reassign
from kohort.coordinator.context import Shard
from kohort.coordinator.offsets.offsets_topic_records import offset_key
from kohort.protocol.batches import EncodedRecords, encode_record
from kohort.protocol.errors import ErrorCode as E
from kohort.storage.placement import NO_LEADER
from kohort.storage.refusal import Refusal
from kohort.storage.topic import Topic
from tests.support.broker import Broker

EXPIRING = bytes.fromhex("0001 0000000000000007 0000 0000000000000005 7fffffffffffffff")


def with_commits(count: int) -> tuple[Broker, Topic]:
    """Create a cluster of three with this many commits of group g, whose offsets partition node 1 leads."""
    broker = Broker(nodes=3, offsets_topic_num_partitions=1)
    broker.cluster.offsets_topic.create(0)
    for number in range(count):
        record = encode_record(offset_key("g", "t", number), EXPIRING, 0)
        assert broker.cluster.offsets_topic.append(0, EncodedRecords(record, 1), 5, 0)[0] is E.none
    topic = broker.cluster.topics.by_name("__consumer_offsets")
    assert topic is not None
    return broker, topic


def moves(broker: Broker, topic: Topic, node: int) -> None:
    broker.server.act(lambda now_ms: move_leader(broker.cluster, topic, topic.partitions[0], node, now_ms))


def shards(broker: Broker) -> list[Shard | None]:
    return [node.coordinator.shards.get(0) for node in broker.cluster.nodes]


def test_requests_are_served_during_load(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replay, "SLICE_BYTES", 1)
    monkeypatch.setattr(replay, "STEP_BYTES", 1)
    broker, topic = with_commits(20)
    ada = broker.client(1)
    moves(broker, topic, 2)
    for _ in range(15):
        assert shards(broker) == [None, Shard.LOADING, None]
        join = ada.asks(
            "join_group", 5, group_id="g", session_timeout_ms=9_000, rebalance_timeout_ms=9_000, member_id="m",
            protocol_type="consumer", protocols=(),
        )  # fmt: skip
        assert (join.error_code, join.member_id) == (E.coordinator_load_in_progress, "")
        assert ada.asks("heartbeat", 0, group_id="g", generation_id=1, member_id="m").error_code is E.none
        assert ada.asks("list_groups", 4, states_filter=()).error_code is E.coordinator_load_in_progress
        broker.loop.run_soon()
        broker.loop.wait(1)
    broker.loop.wait(20)
    assert shards(broker) == [None, Shard.ACTIVE, None]
    assert ada.asks("heartbeat", 0, group_id="g", generation_id=1, member_id="m").error_code is E.unknown_member_id
    assert [group.group_id for group in broker.cluster.nodes[1].coordinator.groups.values()] == ["g"]


def test_leader_moves_during_load(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replay, "SLICE_BYTES", 1)
    monkeypatch.setattr(replay, "STEP_BYTES", 1)
    broker, topic = with_commits(20)
    moves(broker, topic, 2)
    broker.loop.wait(5)
    moves(broker, topic, 3)
    assert shards(broker) == [None, None, Shard.LOADING]
    broker.loop.wait(5)
    moves(broker, topic, 2)  # back to where it has not been finished
    broker.loop.wait(19)
    assert shards(broker) == [None, Shard.LOADING, None]
    broker.loop.wait(10)
    assert shards(broker) == [None, Shard.ACTIVE, None]
    offsets = broker.cluster.nodes[1].coordinator.groups["g"].offsets
    assert offsets is not None
    assert {number for _, number, _ in offsets} == set(range(20))
    assert [node.coordinator.groups for node in (broker.cluster.nodes[0], broker.cluster.nodes[2])] == [{}, {}]


def test_topic_deletion_during_load() -> None:
    broker, topic = with_commits(3)
    moves(broker, topic, 2)
    broker.cluster.topics.delete(topic)
    assert list(broker.cluster.topic_deleted(topic, 0)) == []
    broker.loop.wait(5)
    assert shards(broker) == [None, None, None]


def test_added_offsets_partition_moves() -> None:
    broker, topic = with_commits(0)
    assert broker.cluster.topics.grow(topic, 2) is None
    leader = topic.partitions[1].leader
    broker.server.stop_node(broker.cluster.nodes[leader - 1])
    assert topic.partitions[1].leader not in (leader, NO_LEADER)


def test_epochs_grow_and_are_stamped() -> None:
    broker, topic = with_commits(2)
    partition = topic.partitions[0]
    moves(broker, topic, 2)
    moves(broker, topic, 2)  # leads already
    moves(broker, topic, 1)
    assert (partition.leader, partition.leader_epoch) == (1, 2)
    broker.loop.wait(5)
    record = encode_record(offset_key("g", "t", 9), EXPIRING, 0)
    broker.cluster.offsets_topic.append(0, EncodedRecords(record, 1), 5, 0)
    assert [partition.log.end_offset_for_epoch(epoch) for epoch in range(4)] == [(0, 2), (0, 2), (2, 3), (-1, -1)]


def test_replica_removal_keeps_coordinator() -> None:
    broker, topic = with_commits(1)
    partition = topic.partitions[0]
    broker.server.act(lambda now_ms: reassign(broker.cluster, topic, partition, (2, 1), now_ms))
    assert (partition.leader, partition.leader_epoch) == (1, 1)
    assert shards(broker) == [Shard.ACTIVE, None, None]


def test_move_to_unavailable_node_is_rejected() -> None:
    broker, topic = with_commits(0)
    broker.server.stop_node(broker.cluster.nodes[2])
    for node, sentence in ((9, "unknown node 9; the nodes are 1, 2, 3"), (3, "node 3 is stopped; start it first")):
        with pytest.raises(MoveError, match=sentence):
            moves(broker, topic, node)


def test_new_topics_use_running_nodes() -> None:
    broker, _ = with_commits(0)
    topics = broker.cluster.topics
    broker.server.stop_node(broker.cluster.nodes[0])
    single, copied = topics.create("single", 6), topics.create("copied", 4, 3)
    assert isinstance(single, Topic)
    assert isinstance(copied, Topic)
    assert {partition.leader for partition in single.partitions} == {2, 3}
    assert {(partition.leader, len(partition.replicas)) for partition in copied.partitions} == {(2, 3), (3, 3)}
    refused = topics.create("by-hand", assignments=[(0, [2]), (1, [1])])
    assert isinstance(refused, Refusal)
    assert refused.error_code is E.invalid_replica_assignment
    assert topics.grow(single, 8) is None
    assert {partition.leader for partition in single.partitions} == {2, 3}


def test_last_node_can_stop() -> None:
    broker, topic = with_commits(2)
    for node in broker.cluster.nodes:
        broker.server.stop_node(node)
    assert topic.partitions[0].leader == NO_LEADER
    assert shards(broker) == [None, None, None]
    broker.server.node_started(broker.cluster.nodes[2])
    broker.loop.wait(2)
    assert shards(broker) == [None, None, Shard.ACTIVE]
    assert broker.client(2).asks("metadata", 9, topics=()).controller_id == 3


def test_preferred_election_can_be_disabled() -> None:
    broker, _ = with_commits(0)
    broker.cluster.settings.__dict__["auto_leader_rebalance_enable"] = False
    broker.server.stop_node(broker.cluster.nodes[0])
    broker.server.node_started(broker.cluster.nodes[0])
    broker.loop.wait(600_000)
    assert shards(broker) == [None, Shard.ACTIVE, None]
