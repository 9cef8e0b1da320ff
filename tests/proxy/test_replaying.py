"""Recorded conversations are replayed, and differences are reported."""

from __future__ import annotations

import asyncio
import socket
from pathlib import Path

import pytest

from kohort.control.control_errors import ControlError
from kohort.protocol.api_keys import API_BY_NAME
from kohort.protocol.messages.metadata import MetadataRequestTopic
from kohort.protocol.messages.txn_offset_commit import (
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from kohort.proxy.talk.replay_stage import NEWEST
from kohort.testing import Cluster, replay, replay_async
from tests.proxy.proxied import proxied, until, wire_to
from tests.proxy.talks import BEATS, JOINS, recorded
from tests.support.frames import frame
from tests.support.wires import Waiting

pytestmark = pytest.mark.timeout(120)


@pytest.fixture
def talk(tmp_path: Path) -> Path:
    """A file with JOINS in it."""
    path = tmp_path / "x.talk"
    path.write_text(JOINS)
    return path


def test_replay_starts_its_own_kohort(talk: Path) -> None:
    played = replay(talk)
    assert (played.differences, played.as_recorded, played.connections) == ([], 9, 2)
    assert str(played) == "9 requests of 2 connections: 9 answered as recorded"


def test_differences_show_their_line(talk: Path) -> None:
    talk.write_text(JOINS.replace("ada/2 <- UNKNOWN_MEMBER_ID", "ada/2 <- FENCED_INSTANCE_ID"))
    played = replay(talk)
    assert played.different == 1
    assert str(played.differences[0]).splitlines() == [
        "x.talk:20: ada/2 Heartbeat v4 {group_id: billing, generation_id: 57, member_id: $ada}",
        "  expected FENCED_INSTANCE_ID",
        "  received UNKNOWN_MEMBER_ID",
        "    error_code: expected FENCED_INSTANCE_ID, received UNKNOWN_MEMBER_ID",
    ]


def test_generations_count_from_first_response(talk: Path) -> None:
    beat = "4000 ms  ada/2 Heartbeat v4 {group_id: billing, generation_id: "
    talk.write_text(JOINS.replace(f"{beat}57", f"{beat}56"))
    (difference,) = replay(talk).differences
    assert difference.lines == ["error_code: expected NONE, received ILLEGAL_GENERATION"]


def test_replay_accepts_kohort_settings(talk: Path) -> None:
    played = replay(talk, settings={"group.min.session.timeout.ms": 7_000})
    assert played.differences[0].received.startswith("INVALID_SESSION_TIMEOUT")


async def test_running_cluster_gets_renamed_groups(talk: Path) -> None:
    async with Cluster() as kafka:
        played = await replay_async(talk, kafka.bootstrap, speed=100, rename="-again")
        assert [group.id for group in kafka.groups] == ["billing-again"]
    assert played.requests == 9


async def test_existing_group_is_skipped(talk: Path) -> None:
    async with Cluster() as kafka:
        await replay_async(talk, kafka.bootstrap, speed=100)
        with pytest.raises(ControlError, match="group billing exists in this cluster"):
            await replay_async(talk, kafka.bootstrap)


async def test_topic_size_mismatch_is_one_line(talk: Path) -> None:
    async with Cluster() as kafka:
        kafka.topics.create("orders", partitions=3)
        with pytest.raises(ControlError, match="topic orders has 3 partitions in this cluster, and 2 in the recording"):
            await replay_async(talk, kafka.bootstrap)


async def test_missing_api_version_is_one_line(talk: Path) -> None:
    async with Cluster(as_kafka="2.8") as kafka:
        with pytest.raises(
            ControlError, match=r"x.talk:3: this cluster does not support Metadata v12; it supports versions 0 to 11"
        ):
            await replay_async(talk, kafka.bootstrap)


async def test_create_topics_version_is_one_line(talk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(NEWEST, "create_topics", API_BY_NAME["create_topics"].min_version - 1)
    async with Cluster() as kafka:
        with pytest.raises(
            ControlError, match=r"^this cluster does not support CreateTopics in a version that a replay can use$"
        ):
            await replay_async(talk, kafka.bootstrap)


def test_unreachable_cluster_is_one_line(talk: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        where = f"127.0.0.1:{taken.getsockname()[1]}"
    with pytest.raises(ControlError, match=f"^{where}: nothing listens there"):
        replay(talk, where)


async def test_cluster_outage_ends_replay(talk: Path) -> None:
    async with Cluster() as kafka, proxied(int(kafka.bootstrap.rpartition(":")[2])) as proxy:
        playing = asyncio.ensure_future(replay_async(talk, proxy.address))
        await until(lambda: kafka.groups and kafka.group("billing").members)
        proxy.stop()
        with pytest.raises(ControlError, match="nothing listens there"):
            await playing


async def test_non_kafka_server_is_one_line(talk: Path) -> None:
    async def greet(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1)
        writer.write(b"220 mail.example ESMTP\r\n")

    server = await asyncio.start_server(greet, "127.0.0.1", 0)
    where = f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
    with pytest.raises(ControlError, match=f"^{where}: "):
        await replay_async(talk, where)
    server.close()


async def test_missing_response_times_out(talk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kohort.proxy.talk.replay_player.PATIENCE_MS", 200)
    async with Cluster() as kafka:
        kafka.faults.on("SyncGroup").drop()
        played = await replay_async(talk, kafka.bootstrap, speed=100)
    sync = next(difference for difference in played.differences if "SyncGroup" in difference.request)
    assert sync.received == "nothing within 0.2 s more than recorded"
    assert played.requests == 9, "the others are sent all the same"


async def test_recording_replays_identically(tmp_path: Path) -> None:
    path = tmp_path / "new.talk"
    async with Cluster(profile="faithful") as kafka:
        kafka.topics.create("orders", partitions=2)
        async with recorded(path, kafka) as wire:
            await wire.asks("metadata", 12, topics=(MetadataRequestTopic(name="orders"),))
            await wire.asks("find_coordinator", 4, coordinator_keys=("g",))
            names = ("orders",)
            member = {"group_id": "g", "member_id": "m-1", "subscribed_topic_names": names, "topic_partitions": ()}
            joined = await wire.asks(
                "consumer_group_heartbeat", 1, member_epoch=0, rebalance_timeout_ms=5_000, **member
            )
            beat = {"group_id": "g", "member_id": "m-1", "member_epoch": joined.member_epoch}
            await wire.asks("consumer_group_heartbeat", 1, **beat)
            await wire.exchanges(frame("produce", 9, 1, acks=-1, timeout_ms=1, topic_data=()))
    text = path.read_text()
    assert "ConsumerGroupHeartbeat v1 {group_id: g, member_id: $ada, " in text
    assert "m-1" not in text
    assert "Produce" not in text
    assert (await replay_async(path)).differences == []


def test_earlier_members_are_skipped(tmp_path: Path) -> None:
    path = tmp_path / "x.talk"
    path.write_text(BEATS.replace("ada <- UNKNOWN_MEMBER_ID", "ada <- NONE"))
    played = replay(path)
    assert (played.left_out, played.as_recorded, played.unanswered) == (1, 1, 1)


KAFKA_AS_IT_WAS_SET = {"group.initial.rebalance.delay.ms": 0, "group.min.session.timeout.ms": 100}


@pytest.mark.long
def test_recorded_kafka_minute_replays_identically() -> None:
    played = replay(Path(__file__).with_name("six_clients.talk"), settings=KAFKA_AS_IT_WAS_SET)
    assert played.differences == []
    assert str(played) == ("306 requests of 24 connections: 305 answered as recorded, 1 unanswered in the recording")


async def test_transaction_replays_without_records(tmp_path: Path) -> None:
    path = tmp_path / "x.talk"
    partition = TxnOffsetCommitRequestPartition(partition_index=0, committed_offset=5, committed_metadata="")
    topics = (TxnOffsetCommitRequestTopic(name="orders", partitions=(partition,)),)
    async with Cluster(profile="faithful") as kafka:
        kafka.topics.create("orders")
        async with recorded(path, kafka) as wire:
            await wire.asks("metadata", 12, topics=(MetadataRequestTopic(name="orders"),))
            await wire.asks("find_coordinator", 4, key_type=1, coordinator_keys=("t",))
            await wire.asks("find_coordinator", 4, coordinator_keys=("g",))
            begun = await wire.asks("init_producer_id", 5, transactional_id="t", transaction_timeout_ms=9_000)
            producer = {"producer_id": begun.producer_id, "transactional_id": "t"}
            epoch = begun.producer_epoch
            for commits in (False, True, True):
                if commits:
                    fields = {"group_id": "g", "topics": topics, "producer_epoch": epoch}
                    await wire.asks("txn_offset_commit", 5, **producer, **fields)
                ended = await wire.asks("end_txn", 5, **producer, producer_epoch=epoch, committed=commits)
                assert ended.error_code.name == "none"
                epoch = ended.producer_epoch
    played = await replay_async(path)
    assert (played.differences, played.as_recorded, played.left_out) == ([], 7, 2), (
        "not the first search, nor the empty one"
    )


@pytest.mark.parametrize("first", ["other", "t"])
async def test_first_producer_id_may_shift(tmp_path: Path, first: str) -> None:
    path = tmp_path / "x.talk"
    async with Cluster(profile="faithful") as kafka, recorded(path, kafka) as wire:
        producer = await begins(wire, "t")
        assert (producer["producer_id"], producer["producer_epoch"]) == (0, 0)
        await wire.asks("add_offsets_to_txn", 3, **producer, group_id="g")
        ended = await wire.asks("end_txn", 3, **producer, committed=True)
        assert ended.error_code.name == "none"
    async with Cluster(profile="faithful") as kafka:
        wire = await wire_to(kafka)
        await begins(wire, first)
        again = await replay_async(path, kafka.bootstrap)
        wire.close()
    assert (again.differences, again.as_recorded, again.left_out) == ([], 3, 1), "not the first search"


async def begins(wire: Waiting, transaction: str) -> dict[str, object]:
    """Return a producer's id and epoch as fields of requests."""
    await wire.asks("find_coordinator", 4, key_type=1, coordinator_keys=(transaction,))
    begun = await wire.asks("init_producer_id", 5, transactional_id=transaction, transaction_timeout_ms=9_000)
    assert begun.error_code.name == "none"
    return {
        "transactional_id": transaction,
        "producer_id": begun.producer_id,
        "producer_epoch": begun.producer_epoch,
    }
