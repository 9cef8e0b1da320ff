"""ShareFetch and ShareAcknowledge beyond recorded conversations: many, large, moved, killed."""

from __future__ import annotations

import errno
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from kohort.broker.cluster import share_fetch_sessions
from kohort.broker.cluster.moving import move_leader, stop_node
from kohort.protocol.errors import ErrorCode as E
from kohort.storage.disk.directory import DataDirectory
from tests.broker.share_member import ACCEPT, RELEASE, Member, acquired, produce, ready, values
from tests.support.broker import Broker
from tests.support.data_requests import delete


def test_records_are_fetched_and_accepted() -> None:
    broker = Broker()
    ready(broker)
    produce(broker, b"a", b"b", b"c")
    ada, bob = Member(broker), Member(broker, "bob")
    answer = ada.fetches(0)
    assert (acquired(answer), values(answer)) == ([(0, 2, 1)], [b"a", b"b", b"c"])
    assert answer.acquisition_lock_timeout_ms == 30_000
    assert bob.acquires(0) == []
    assert ada.acknowledges((0, 1, [ACCEPT]), (2, 2, [RELEASE])) is E.none
    assert bob.acquires() == [(2, 2, 2)]


def test_fetch_waits_for_records_and_locks() -> None:
    broker = Broker()
    ready(broker)
    ada, bob = Member(broker), Member(broker, "bob")
    ada.asks_for(0, wait_ms=100_000)
    assert ada.hears() is None
    produce(broker, b"a")
    assert acquired(ada.hears()) == [(0, 0, 1)]
    bob.asks_for(0, wait_ms=100_000)
    broker.loop.wait(29_999)
    assert bob.hears() is None
    broker.loop.wait(1)
    assert acquired(bob.hears()) == [(0, 0, 2)]


def test_departed_member_gets_no_records() -> None:
    broker = Broker()
    ready(broker)
    ada, bob = Member(broker), Member(broker, "bob")
    ada.asks_for(0, wait_ms=100_000)
    ada.disconnects()
    produce(broker, b"a")
    assert bob.acquires(0) == [(0, 0, 1)]


def test_disconnect_releases_everything() -> None:
    broker = Broker()
    ready(broker)
    produce(broker, b"a", b"b")
    ada, bob = Member(broker), Member(broker, "bob")
    ada.fetches(0)
    bob.asks_for(0, wait_ms=1_000)
    ada.disconnects()
    assert acquired(bob.hears()) == [(0, 1, 2)]
    bob.disconnects()
    assert len(broker.cluster.nodes[0].led_share_partitions) == 0, "the group has no members left"


def test_overtaken_fetch_acquires_nothing() -> None:
    broker = Broker()
    ready(broker)
    ada = Member(broker)
    ada.fetches(0)
    ada.asks_for(wait_ms=1_000)
    other = Member(broker)
    assert other.fetches(epoch=2).error_code is E.none
    produce(broker, b"a")
    assert ada.hears() is None
    broker.loop.wait(1_000)
    late = ada.hears()
    assert (late.error_code, late.acquisition_lock_timeout_ms) == (E.invalid_share_session_epoch, 30_000)
    assert other.acquires() == [(0, 0, 1)]


def test_invalid_session_keeps_records() -> None:
    broker = Broker()
    ready(broker)
    produce(broker, b"a")
    ada, bob = Member(broker), Member(broker, "bob")
    for epoch in (1, 7, 2**31 - 1, -1):
        assert ada.fetches(epoch=epoch).error_code is E.share_session_not_found
        assert ada.says((0, 0, [ACCEPT]), epoch=epoch).error_code is E.share_session_not_found
    assert ada.acquires(0, epoch=0) == [(0, 0, 1)]
    for epoch in (2, 77, 2**31 - 1, -2, -(2**31)):
        assert ada.fetches(epoch=epoch).error_code is E.invalid_share_session_epoch
        assert ada.says((0, 0, [ACCEPT]), epoch=epoch).error_code is E.invalid_share_session_epoch
    assert bob.acquires(0) == []
    ada.epoch = 1
    assert ada.acknowledges((0, 0, [ACCEPT])) is E.none, "its session is where it was"


def test_departed_member_loses_records() -> None:
    broker = Broker()
    ready(broker)
    produce(broker, b"a", b"b")
    ada = Member(broker)
    assert ada.acquires(0) == [(0, 1, 1)]
    ada.disconnects()
    bob, again = Member(broker, "bob"), Member(broker)
    assert bob.acquires(0, most=1, share_acquire_mode=1) == [(0, 0, 2)]
    again.fetches(epoch=0)
    for offset in (0, 1):
        assert again.acknowledges((offset, offset, [ACCEPT])) is E.invalid_record_state
    assert bob.acknowledges((0, 0, [ACCEPT])) is E.none
    assert again.acquires(0) == [(1, 1, 2)]


@pytest.mark.deep
@pytest.mark.timeout(300)
def test_client_session_limit() -> None:
    broker = Broker()
    ready(broker)
    crowd, most = Member(broker), broker.cluster.settings.group_share_max_share_sessions
    for number in range(10_000):
        crowd.name = f"m{number}"
        crowd.asks_for(0, epoch=0)
        broker.loop.wait(0)
        assert crowd.hears().error_code is (E.none if number < most else E.share_session_limit_reached)
    assert len(broker.cluster.nodes[0].led_share_partitions.sessions) == most
    crowd.disconnects()
    assert len(broker.cluster.nodes[0].led_share_partitions.sessions) == 0
    produce(broker, b"a")
    assert Member(broker).acquires(0) == [(0, 0, 1)]


def test_session_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    broker = Broker(group_share_max_share_sessions=100, group_share_max_size=100)
    ready(broker)
    crowd = Member(broker)
    for number in range(1_000):
        crowd.name = f"m{number}"
        crowd.asks_for(0, epoch=0)
        broker.loop.wait(0)
        assert crowd.hears().error_code is (E.none if number < 100 else E.share_session_limit_reached)
    sessions = broker.cluster.nodes[0].led_share_partitions.sessions
    assert len(sessions) == 100
    crowd.disconnects()
    assert len(sessions) == 0
    monkeypatch.setattr(share_fetch_sessions, "PARTITIONS_REMEMBERED", 10)
    greedy = Member(broker)
    greedy.asks_for(*range(11))
    broker.loop.wait(0)
    assert greedy.hears().error_code is E.share_session_limit_reached


def test_in_flight_limit() -> None:
    broker = Broker(group_share_partition_max_record_locks=100)
    ready(broker)
    ada, bob = Member(broker), Member(broker, "bob")
    for _ in range(4):
        produce(broker, *[b"x"] * 50)
    assert ada.acquires(0) == [(0, 99, 1)]
    bob.asks_for(0, wait_ms=1_000)
    broker.loop.wait(1_000)
    assert acquired(bob.hears()) == []
    assert ada.acknowledges((0, 49, [ACCEPT])) is E.none
    assert bob.acquires() == [(100, 149, 1)]


def test_delivery_count_limit() -> None:
    broker = Broker(group_share_delivery_count_limit=2)
    ready(broker)
    produce(broker, b"bad")
    produce(broker, b"good")
    ada = Member(broker)
    for count in (1, 2):
        assert ada.acquires(0, most=1) == [(0, 0, count)]
        assert ada.acknowledges((0, 0, [RELEASE])) is E.none
    assert ada.acquires(0, most=1) == [(1, 1, 1)]


def test_many_partitions_are_read_in_slices() -> None:
    broker = Broker()
    ready(broker, partitions=100)
    for index in (3, 40, 99):
        produce(broker, b"%d" % index, partition=index)
    ada = Member(broker)
    ada.asks_for(*range(100), wait_ms=1_000)
    broker.loop.wait(0)
    answer = ada.hears()
    assert {*values(answer)} == {b"3", b"40", b"99"}
    assert len(answer.responses[0].partitions) == 100
    ada.asks_for(wait_ms=1_000)
    broker.loop.wait(500)
    assert ada.hears() is None
    produce(broker, b"more", partition=50)
    broker.loop.wait(0)
    assert values(ada.hears()) == [b"more"]
    ada.asks_for(wait_ms=1_000)
    broker.loop.wait(1_000)
    assert ada.hears().responses == ()


def test_large_acknowledgement_equals_small_ones() -> None:
    broker = Broker()
    ready(broker)
    count = 600
    produce(broker, *[b"x"] * count)
    ada = Member(broker)
    assert ada.acquires(0, most=count) == [(0, count - 1, 1)]
    one_by_one: list[tuple[int, int, list[int]]] = [(offset, offset, [ACCEPT]) for offset in range(count)]
    ada.asks_for(acks={0: one_by_one}, max_bytes=0)
    broker.loop.wait(20)
    assert ada.hears().responses[0].partitions[0].acknowledge_error_code == E.none
    found = broker.cluster.nodes[0].led_share_partitions.of_group("g")[0]
    assert found.in_flight.start == count
    assert ada.acknowledges((count, 2**62, [ACCEPT])) is E.invalid_record_state
    assert ada.acknowledges((5, 4, [ACCEPT])) is E.invalid_request
    assert ada.acknowledges((-(2**62), -1, [ACCEPT])) is E.invalid_request
    assert ada.acknowledges((0, 5, [ACCEPT])) is E.none, "below the start everything is fine"


@pytest.mark.parametrize("how", ["moved", "stopped"])
def test_new_leader_has_written_state(how: str) -> None:
    broker = Broker(nodes=2, share_coordinator_state_topic_replication_factor=2)
    topic = ready(broker, replicas=2)
    produce(broker, b"a", b"b", b"c")
    where = topic.partitions[0]
    old = where.leader
    ada = Member(broker, node=old - 1)
    ada.fetches(0)
    assert ada.acknowledges((0, 0, [ACCEPT])) is E.none
    ada.asks_for(wait_ms=10_000)
    cluster = broker.cluster
    if how == "moved":
        broker.server.act(partial(move_leader, cluster, topic, where, 3 - old))
    else:
        leader = cluster.node(old)
        assert leader is not None
        broker.server.act(partial(stop_node, cluster, leader))
    part = ada.hears().responses[0].partitions[0]
    assert (part.error_code, part.current_leader.leader_id) == (E.not_leader_or_follower, 3 - old)
    bob = Member(broker, "bob", node=2 - old)
    bob.asks_for(0, wait_ms=5_000)
    broker.loop.wait(2_000)
    assert acquired(bob.hears()) == [(1, 2, 1)], "what was held was never written about"


def test_accepted_records_survive_kill(tmp_path: Path) -> None:
    directory = DataDirectory(tmp_path)
    broker = Broker(directory=directory)
    ready(broker)
    produce(broker, b"a", b"b", b"c", b"d")
    ada = Member(broker)
    ada.fetches(0)
    assert ada.acknowledges((0, 0, [ACCEPT]), (1, 1, [RELEASE]), (2, 2, [ACCEPT])) is E.none
    directory.abandon()
    new_broker = Broker(directory=DataDirectory(tmp_path))
    ada = Member(new_broker)
    ada.asks_for(0, wait_ms=1_000)
    new_broker.loop.wait(0)
    assert acquired(ada.hears()) == [(1, 1, 2), (3, 3, 1)]


def test_unwritable_acknowledgement_has_no_effect(monkeypatch: pytest.MonkeyPatch) -> None:
    broker = Broker()
    ready(broker)
    lasting = {"share.auto.offset.reset": "earliest", "share.record.lock.duration.ms": "60000"}
    assert broker.cluster.group_configs.configure("g", lasting) is None
    produce(broker, b"a")
    ada, bob = Member(broker), Member(broker, "bob")
    ada.fetches(0)

    def full(*_: Any, **__: Any) -> int:
        raise OSError(errno.ENOSPC, "no room")

    with monkeypatch.context() as patch:
        patch.setattr(broker.cluster.share_state_topic, "append", full)
        ada.asks_for(acks={0: [(0, 0, [ACCEPT])]}, max_bytes=0)
        broker.loop.wait(40_000)
        part = ada.hears().responses[0].partitions[0]
        assert part.acknowledge_error_code == E.coordinator_not_available
    assert bob.acquires(0) == []
    assert ada.acknowledges((0, 0, [ACCEPT])) is E.none


def test_topic_deletion_removes_share_partitions() -> None:
    broker = Broker()
    ready(broker)
    produce(broker, b"a")
    ada = Member(broker)
    ada.fetches(0)
    delete(broker.client(), "t")
    assert len(broker.cluster.nodes[0].led_share_partitions) == 0


def test_start_timestamp_search_is_sliced() -> None:
    broker = Broker()
    topic = ready(broker)
    assert broker.cluster.group_configs.configure("g", {"share.auto.offset.reset": "by_duration:PT1S"}) is None
    ada = Member(broker)
    ada.asks_for(0, wait_ms=100)
    broker.loop.wait(100)
    assert ada.hears().responses[0].partitions[0].error_code is E.offset_not_available
    assert topic.partitions[0].log.log_end_offset == 0


def test_where_switched_off_everything_is_refused() -> None:
    broker = Broker()
    ready(broker)
    broker.cluster.features.move("share.version", 0)
    ada = Member(broker)
    assert ada.fetches(0).error_code is E.unsupported_version
    assert ada.says((0, 0, [ACCEPT])).error_code is E.unsupported_version


def test_fetch_reads_until_limit_reached(monkeypatch: pytest.MonkeyPatch) -> None:
    broker = Broker()
    topic = ready(broker, 5)
    ada = Member(broker)
    ada.fetches(*range(5))
    for partition in range(5):
        produce(broker, b"a", b"b", partition=partition)
    log_type, reads = type(topic.partitions[0].log), []
    read_segment = log_type.read_segment

    def counting(*arguments: Any, **options: Any) -> Any:
        reads.append(1)
        return read_segment(*arguments, **options)

    monkeypatch.setattr(log_type, "read_segment", counting)
    assert len(ada.acquires(most=1)) == 1
    assert len(reads) == 1
