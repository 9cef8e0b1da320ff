"""A broker starts on a data directory that another one has left."""

import shutil
from collections.abc import Iterator
from io import StringIO
from pathlib import Path

import pytest

from kohort.base.logs import log
from kohort.coordinator.at_once import at_once
from kohort.coordinator.effects import OFFSETS_TOPIC
from kohort.coordinator.pace import Pace
from kohort.coordinator.share_state.share_state import StateUpdate
from kohort.coordinator.share_state.share_state_records import state_key, update_value
from kohort.coordinator.share_state.state_batches import NO_BATCHES
from kohort.protocol.batches import EncodedRecords, encode_record
from kohort.protocol.errors import ErrorCode as E
from kohort.protocol.records.layouts import SHARE_UPDATE
from kohort.storage.disk.directory import DataDirectory
from kohort.whatif.clients.classic_group_member import ClassicMember
from tests.support.batches import batch
from tests.support.broker import Broker
from tests.support.data_requests import fetch, given_topic, produce, records
from tests.support.frames import frame


@pytest.fixture
def log_stream() -> Iterator[StringIO]:
    """What is logged."""
    stream = StringIO()
    log.configure(stream=stream)
    yield stream
    log.configure()


class Places:
    """Brokers one after the other on the same directory."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._last: DataDirectory | None = None

    def broker(self, nodes: int = 1) -> Broker:
        if self._last is not None:
            self._last.abandon()
        self._last = DataDirectory(self._path)
        return Broker(nodes, directory=self._last)


@pytest.fixture
def places(tmp_path: Path) -> Places:
    return Places(tmp_path / "data")


def test_topics_return_with_new_epoch(places: Places) -> None:
    old_broker = places.broker()
    client = old_broker.client()
    topic_id = given_topic(client, "orders", 2)
    produce(client, batch(b"one"), "orders", 1)
    after = places.broker()
    assert after.cluster.cluster_id == old_broker.cluster.cluster_id
    topic = after.cluster.topics.by_name("orders")
    assert topic is not None
    assert topic.topic_id == topic_id
    assert [partition.leader_epoch for partition in topic.partitions] == [1, 1]
    assert records(fetch(after.client(), ("orders", 1, 0))) == [(0, None, b"one")]
    assert places.broker().cluster.topics.by_name("orders").partitions[0].leader_epoch == 2  # type: ignore[union-attr]


def test_adoption_is_logged(places: Places, log_stream: StringIO) -> None:
    given_topic(places.broker().client(), "orders", 2)
    places.broker()
    assert "1 topics with 2 partitions and 0 bytes taken over" in log_stream.getvalue()


def test_replicas_follow_current_nodes(places: Places) -> None:
    given_topic(places.broker(nodes=3).client(), "orders", 3)
    one = places.broker(nodes=1)
    topic = one.cluster.topics.by_name("orders")
    assert topic is not None
    assert [(partition.replicas, partition.leader) for partition in topic.partitions] == [((1,), 1)] * 3
    three = places.broker(nodes=3)
    assert given_topic(three.client(), "more", 3)
    assert {partition.leader for partition in three.cluster.topics.by_name("more").partitions} == {1, 2, 3}  # type: ignore[union-attr]


def test_kafka_folders_become_topics(tmp_path: Path, log_stream: StringIO) -> None:
    old_broker = Places(tmp_path / "before").broker()
    old_broker.cluster.offsets_topic.create(0)
    offsets_topic = old_broker.cluster.topics.by_name(OFFSETS_TOPIC)
    assert offsets_topic is not None
    old_broker.cluster.append(offsets_topic.partitions[7], batch((b"key", b"value")), 0)
    (tmp_path / "kafka").mkdir()
    (tmp_path / "before" / f"{OFFSETS_TOPIC}-7").rename(tmp_path / "kafka" / f"{OFFSETS_TOPIC}-7")
    after = Places(tmp_path / "kafka").broker()
    topic = after.cluster.topics.by_name(OFFSETS_TOPIC)
    assert topic is not None
    assert len(topic.partitions) == 50
    assert topic.log_config.compact
    assert "taken over with 50 partitions from existing folders" in log_stream.getvalue()


def test_existing_offsets_topic_loads_once(places: Places) -> None:
    old_broker = places.broker()
    old_broker.cluster.offsets_topic.create(0)
    ada, member = old_broker.client(), ClassicMember("ada", session_ms=6_000, rebalance_ms=6_000)
    join = member.join()
    ada.says(frame(join.api, 3, 1, **join.fields))
    old_broker.loop.wait(3_000)
    ((_, joined),) = ada.hears("join_group", 3)
    assert join.hear(joined) is E.none
    assert ada.asks("sync_group", 2, **member.sync({member.member_id: b"all"}).fields).error_code is E.none
    after = places.broker()
    after.cluster.offsets_topic.create(after.clock.now_ms())
    ada = after.client()
    for _ in range(5):
        after.loop.wait(2_000)
        assert ada.asks("heartbeat", 0, **member.beat().fields).error_code is E.none
    assert places.broker().client().asks("heartbeat", 0, **member.beat().fields).error_code is E.none


@pytest.mark.parametrize("lost", ["segment", "folder", "snapshot", "nothing"])
def test_lost_share_state_is_logged(lost: str, places: Places, log_stream: StringIO, tmp_path: Path) -> None:
    first_broker = places.broker()
    client = first_broker.client()
    given_topic(client, "orders", 2)
    client.asks("find_coordinator", 4, key_type=0, coordinator_keys=("workers",))
    first_broker.loop.wait(10)
    for epoch in (0, 1):
        client.asks(
            "share_group_heartbeat", 1, group_id="workers", member_id="ada", member_epoch=epoch,
            rack_id=None, subscribed_topic_names=("orders",),
        )  # fmt: skip
        first_broker.loop.wait(100)
    folders = [
        segment.parent for segment in (tmp_path / "data").glob("__share_group_state-*/*.log") if segment.stat().st_size
    ]
    assert folders
    for folder in folders:
        if lost == "folder":
            shutil.rmtree(folder)
        elif lost == "segment":
            (folder / f"{0:020}.log").unlink()
        elif lost == "snapshot":  # an update is all that is left
            written = StateUpdate(0, 0, -1, 0, NO_BATCHES)
            number = int(folder.name.rpartition("-")[2])
            key = next(iter(first_broker.cluster.nodes[0].share_coordinator.shards[number].states))
            record = encode_record(state_key(SHARE_UPDATE, key), at_once(update_value(written, Pace())), 0)
            (folder / f"{0:020}.log").write_bytes(EncodedRecords(record, 1).batch(0))
    places.broker()
    is_logged = "workers: the state of orders-" in log_stream.getvalue()
    assert is_logged is (lost != "nothing")
