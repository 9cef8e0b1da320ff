"""The safety oracle for share groups with brokers: it detects their errors only."""

from __future__ import annotations

from functools import partial

from kohort.broker.cluster.moving import move_leader
from kohort.control.clock.lab_clock import LabClock
from kohort.control.laboratory import Laboratory
from kohort.control.oracle.safety import Budget
from kohort.coordinator.effects import SHARE_STATE_TOPIC
from kohort.protocol.errors import ErrorCode as E
from kohort.protocol.messages.alter_share_group_offsets import (
    AlterShareGroupOffsetsRequestPartition,
    AlterShareGroupOffsetsRequestTopic,
)
from tests.broker.share_member import ACCEPT, GROUP, REJECT, RELEASE, Member, produce, ready
from tests.support.broker import Broker
from tests.support.manual_clock import ManualClock


class Watched:
    """A broker whose laboratory watches."""

    def __init__(self, nodes: int = 1) -> None:
        clock = LabClock(ManualClock())
        self.broker = Broker(
            nodes=nodes,
            clock=clock,  # type: ignore[arg-type]
            group_share_delivery_count_limit=2,
            share_coordinator_state_topic_num_partitions=1,
        )
        self.laboratory = Laboratory(self.broker.cluster, clock)
        self.laboratory.attach(self.broker.server)
        self.laboratory.watch_safety(Budget())

    def moves(self, topic: str, index: int, node: int) -> None:
        """Move a partition to another leader."""
        found = self.broker.cluster.topics.by_name(topic)
        assert found is not None
        self.broker.server.act(partial(move_leader, self.broker.cluster, found, found.partitions[index], node))

    def ada_with_two_records(self, leader: int) -> Member:
        """Let ada acquire all records from the leader."""
        ready(self.broker, replicas=2)
        produce(self.broker, b"a", b"b")
        self.moves("t", 0, leader)
        ada = Member(self.broker, node=leader - 1)
        ada.fetches(0, wait_ms=0)
        assert ada.acquires(wait_ms=0) == [(0, 1, 1)]
        return ada

    def told(self) -> list[tuple[int, str]]:
        """Return the nodes and types of the group's events."""
        return [
            (event.node_id, event.event.kind) for event in self.laboratory.recorder if event.event.group_id == GROUP
        ]

    @property
    def violations(self) -> list[str]:
        assert self.laboratory.safety is not None
        return self.laboratory.safety.violations


def test_member_actions_are_no_violation() -> None:
    watched = Watched(nodes=2)
    broker, laboratory = watched.broker, watched.laboratory
    where = ready(broker, replicas=2).partitions[0]
    for _ in range(3):
        produce(broker, *[b"x"] * 5)
    first, second = where.leader, 3 - where.leader
    ada, bob = Member(broker, node=first - 1), Member(broker, "bob", node=first - 1)
    ada.fetches(0, most=5)
    bob.fetches(0)
    assert ada.acknowledges((0, 0, [ACCEPT]), (1, 2, [RELEASE]), (3, 3, [REJECT])) is E.none
    assert bob.acquires() == [(1, 2, 2)]
    laboratory.advance(31_000)
    ada.fetches()
    watched.moves("t", 0, second)
    cyd = Member(broker, "cyd", node=second - 1)
    assert cyd.acquires(0) == [], "the leader has begun to read what is known"
    assert cyd.acquires(), "what was held is free"
    cyd.disconnects()
    dan = Member(broker, "dan", node=second - 1)
    dan.fetches(0)
    laboratory.advance(31_000)
    assert watched.violations == []
    assert len(laboratory.recorder.events("g")) > 10


def test_forgotten_lock_is_detected() -> None:
    watched = Watched()
    ready(watched.broker)
    produce(watched.broker, b"a", b"b")
    ada, bob = Member(watched.broker), Member(watched.broker, "bob")
    assert ada.acquires(0) == [(0, 1, 1)]
    watched.broker.cluster.nodes[0].led_share_partitions._share_partitions.clear()
    assert bob.acquires(0) == [(0, 1, 1)]
    assert watched.violations == ["group g: t-0 0-1 was delivered to bob, and ada holds it"]


def test_old_leader_may_report_late() -> None:
    watched = Watched(nodes=2)
    broker, laboratory = watched.broker, watched.laboratory
    ada, bob = watched.ada_with_two_records(leader=2), Member(broker, "bob", node=0)
    watched.moves(SHARE_STATE_TOPIC, 0, 1)
    laboratory.advance(1)
    with laboratory.appends.of("share_state", group=GROUP).hold():
        ada.asks_for(acks={0: [(0, 0, [ACCEPT]), (1, 1, [RELEASE])]}, max_bytes=0)
        watched.moves("t", 0, 1)
        assert bob.acquires(0, wait_ms=0) == [], "the leader has begun to read what is written"
    assert watched.told()[-3:] == [
        (1, "share_partition_loaded"), (2, "records_accepted"), (2, "records_released"),
    ]  # fmt: skip
    assert bob.acquires(wait_ms=0) == [(1, 1, 2)]
    assert bob.acknowledges((1, 1, [ACCEPT])) is E.none
    assert watched.violations == []


def test_written_state_counts_despite_reported_failure() -> None:
    watched = Watched(nodes=2)
    broker, laboratory = watched.broker, watched.laboratory
    ada, bob = watched.ada_with_two_records(leader=1), Member(broker, "bob", node=0)
    watched.moves(SHARE_STATE_TOPIC, 0, 1)
    laboratory.advance(1)
    with laboratory.appends.of("share_state", group=GROUP).hold():
        ada.asks_for(acks={0: [(0, 0, [ACCEPT])]}, max_bytes=0)
        watched.moves(SHARE_STATE_TOPIC, 0, 2)
    laboratory.appends.of("share_state").fail("MESSAGE_TOO_LARGE", times=1)
    laboratory.advance(2_000)
    (heard,) = ada.hears().responses[0].partitions
    assert E(heard.acknowledge_error_code) is E.unknown_server_error
    assert ada.acknowledges((0, 1, [RELEASE])) is E.none
    ada.disconnects()
    bob.fetches(0, wait_ms=0)
    assert bob.acquires(wait_ms=0) == [(1, 1, 2)], "the other one was accepted"
    assert bob.acknowledges((1, 1, [ACCEPT])) is E.none
    assert watched.told()[-1] == (1, "share_start_moved")
    assert watched.violations == []


def test_new_leader_waits_for_pending_write() -> None:
    watched = Watched()
    broker, laboratory = watched.broker, watched.laboratory
    ready(broker)
    produce(broker, b"a", b"b")
    ada, bob = Member(broker), Member(broker, "bob")
    assert ada.acquires(0) == [(0, 1, 1)]
    laboratory.appends.of("share_state").fail("KAFKA_STORAGE_ERROR", times=1)
    with laboratory.appends.of("share_state", group=GROUP).hold():
        ada.disconnects()
        assert bob.acquires(0, wait_ms=0) == [], "the leader knows nothing any more, and begins to read"
    laboratory.advance(1_999)
    assert bob.acquires(wait_ms=0) == []
    laboratory.advance(1)
    assert watched.told()[-2:] == [(1, "records_released"), (1, "share_partition_loaded")]
    assert bob.acquires(wait_ms=0) == [(0, 1, 2)]
    assert watched.violations == []


def test_unwritten_archived_record_is_redelivered() -> None:
    watched = Watched(nodes=2)
    broker, laboratory = watched.broker, watched.laboratory
    ada, bob = watched.ada_with_two_records(leader=2), Member(broker, "bob", node=0)
    assert ada.acknowledges((0, 1, [RELEASE])) is E.none
    assert ada.acquires(wait_ms=0) == [(0, 1, 2)]
    laboratory.appends.of("share_state").fail("MESSAGE_TOO_LARGE", times=1)
    laboratory.advance(30_000)
    assert watched.told()[-2:] == [(2, "records_archived"), (2, "share_start_moved")], "it was delivered twice"
    assert ada.acknowledges((0, 1, [ACCEPT])) is E.none, "it lies before the start"
    watched.moves("t", 0, 1)
    bob.fetches(0, wait_ms=0)
    assert bob.acquires(wait_ms=0) == [(0, 1, 2)]
    assert watched.violations == []


def test_reset_group_may_receive_all_again() -> None:
    watched = Watched()
    topic = ready(watched.broker)
    watched.broker.cluster.offsets_topic.create(0)
    produce(watched.broker, b"a", b"b")
    ada = Member(watched.broker)
    ada.fetches(0)
    assert ada.acknowledges((0, 1, [ACCEPT])) is E.none
    ada.disconnects()
    admin = watched.broker.client()
    for name in (GROUP, "other"):
        part = AlterShareGroupOffsetsRequestPartition(partition_index=0, start_offset=0)
        topics = (AlterShareGroupOffsetsRequestTopic(topic_name=topic.name, partitions=(part,)),)
        assert admin.asks("alter_share_group_offsets", 0, group_id=name, topics=topics).error_code is E.none
    bob = Member(watched.broker, "bob")
    assert bob.acquires(0) == [(0, 1, 1)]
    assert watched.violations == []
