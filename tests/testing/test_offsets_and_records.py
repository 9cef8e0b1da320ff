"""Records and offsets without a client: what a test prepares, and what it looks at afterwards."""

from __future__ import annotations

import logging
from datetime import UTC, datetime
from typing import Any

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer

from kohort.control.lab_topics import StoredRecord
from kohort.protocol import compression
from kohort.protocol.compression import CodecMissingError
from kohort.testing import Cluster

pytestmark = [pytest.mark.clients, pytest.mark.timeout(180)]
logging.getLogger("aiokafka").setLevel(logging.CRITICAL)


async def test_all_partitions_with_keys_and_headers() -> None:
    async with Cluster() as kafka:
        kafka.topics.create("orders", partitions=2)
        kafka.topics.append("orders", "b", None, partition=1, key="k", headers={"trace": "7", "empty": None})
        kafka.topics.append("orders", b"a")
        assert kafka.topics.values("orders") == [b"a", b"b", None]
        assert kafka.topics.values("orders", partition=1) == [b"b", None]
        first, second, third = kafka.topics.records("orders")
        headers = (("trace", b"7"), ("empty", None))
        assert first == StoredRecord("orders", 0, 0, first.timestamp_ms, None, b"a", ())
        assert second == StoredRecord("orders", 1, 0, second.timestamp_ms, b"k", b"b", headers)
        assert (third.offset, third.value) == (1, None)


@pytest.mark.parametrize(
    ("values", "advice"),
    [
        ([["a", "b"]], r"a value must be text, bytes or None, got \['a', 'b'\]; pass values one by one"),
        ([7], "a value must be text, bytes or None, got 7"),
    ],
)
async def test_invalid_value_is_rejected(values: list[object], advice: str) -> None:
    async with Cluster() as kafka:
        kafka.topics.create("orders")
        with pytest.raises(ValueError, match=advice):
            kafka.topics.append("orders", *values)  # type: ignore[arg-type]
        assert kafka.topics.end("orders") == 0


async def test_transactional_records_omit_markers() -> None:
    async with Cluster() as kafka:
        kafka.topics.create("orders")
        producer = AIOKafkaProducer(bootstrap_servers=kafka.bootstrap, transactional_id="t")
        await producer.start()
        async with producer.transaction():
            await producer.send("orders", b"a")
        await producer.stop()
        assert kafka.topics.values("orders") == [b"a"]
        assert kafka.topics.end("orders") == 2


async def test_missing_codec_names_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing() -> None:
        raise CodecMissingError("cramjam is not installed")

    async with Cluster() as kafka:
        kafka.topics.create("orders")
        producer = AIOKafkaProducer(bootstrap_servers=kafka.bootstrap, compression_type="zstd")
        await producer.start()
        await producer.send_and_wait("orders", b"a" * 1000)
        await producer.stop()
        assert kafka.topics.values("orders") == [b"a" * 1000]
        monkeypatch.setattr(compression, "_cramjam", missing)
        with pytest.raises(ValueError, match=r"pip install 'kohort\[codecs\]'"):
            kafka.topics.values("orders")


async def test_records_are_searched() -> None:
    async with Cluster() as kafka:
        kafka.topics.create("orders", partitions=2)
        for second, key in ((1, "a"), (3, "b"), (2, "a"), (4, "a")):
            kafka.topics.append("orders", f"{key}{second}", key=key, timestamp=second * 1_000)
        kafka.topics.append("orders", "other", key="a", partition=1, timestamp=9_000)

        def search(**filters: Any) -> list[bytes | None]:
            return [record.value for record in kafka.topics.records("orders", **filters)]

        assert search(offset=2) == [b"a2", b"a4"]
        # as in Kafka, the first record at or after the time is the start, whatever the times of later records
        assert search(since=2_000, partition=0) == [b"b3", b"a2", b"a4"]
        assert search(since=datetime(1970, 1, 1, 0, 0, 4, tzinfo=UTC)) == [b"a4", b"other"]
        assert search(since=9_001) == []
        assert search(key="a", partition=0) == [b"a1", b"a2", b"a4"]
        assert search(key=b"a", since=2_000, offset=3) == [b"a4"]
        assert search(key="z") == []
        with pytest.raises(ValueError, match="timestamp must have a time zone"):
            search(since=datetime(2026, 5, 31))


async def test_records_are_trimmed_and_topics_deleted() -> None:
    async with Cluster() as kafka:
        kafka.topics.create("orders")
        kafka.topics.append("orders", "a", "b", "c")
        await kafka.group("billing").commit({("orders", 0): 2})
        assert kafka.topics.delete_records("orders", before=2) == 2
        assert (kafka.topics.start("orders"), kafka.topics.values("orders")) == (2, [b"c"])
        with pytest.raises(ValueError, match="has offsets 2 to 3; cannot delete records before 4"):
            kafka.topics.delete_records("orders", before=4)
        kafka.topics.delete("orders")
        assert kafka.group("billing").offsets == {}
        with pytest.raises(ValueError, match="topic orders does not exist"):
            kafka.topics.delete("orders")
        with pytest.raises(ValueError, match="internal topic"):
            kafka.topics.delete("__consumer_offsets")


async def test_with_replicas_another_node_leads() -> None:
    async with Cluster(nodes=3) as kafka:
        kafka.topics.create("orders", partitions=3, replicas=2)
        kafka.topics.create("by-hand", replicas=[[3, 1]])
        leaders = [each.leader for each in kafka.laboratory.cluster.topics.by_name("orders").partitions]  # type: ignore[union-attr]
        assert sorted(leaders) == [1, 2, 3]
        await kafka.stop_node(3)
        for name in ("orders", "by-hand"):
            topic = kafka.laboratory.cluster.topics.by_name(name)
            assert topic is not None
            assert {each.leader for each in topic.partitions} <= {1, 2}
        with pytest.raises(ValueError, match="Unable to replicate the partition 4 time"):
            kafka.topics.create("more", replicas=4)


async def test_offsets_are_set_and_observed() -> None:
    async with Cluster() as kafka:
        kafka.topics.create("orders", partitions=2)
        kafka.topics.append("orders", "a", "b", "c")
        kafka.topics.append("orders", "d", partition=1)
        group = kafka.group("billing")
        assert group.lag == {}
        await group.commit({("orders", 0): 1})
        assert (group.offsets, group.lag) == ({("orders", 0): 1}, {("orders", 0): 2})
        with pytest.raises(TimeoutError, match="has not caught up: orders-0 by 2"):
            await group.wait_caught_up(timeout=0.01)

        consumer = AIOKafkaConsumer(
            "orders",
            bootstrap_servers=kafka.bootstrap,
            group_id="billing",
            auto_offset_reset="earliest",
            auto_commit_interval_ms=50,
        )
        await consumer.start()
        assert group.lag == {("orders", 0): 2, ("orders", 1): 1}
        read = [(await consumer.getone()).value for _ in range(3)]
        assert sorted(read) == [b"b", b"c", b"d"]
        await group.wait_caught_up()
        kafka.topics.append("orders", "e")
        assert (await consumer.getone()).value == b"e"
        await group.wait_for_offset("orders", 4)
        with pytest.raises(TimeoutError, match="has committed 4 of orders-0, not 5"):
            await group.wait_for_offset("orders", 5, timeout=0.01)
        with pytest.raises(
            ValueError, match=r"group billing has members \(aiokafka-.*\), so no other client can commit"
        ):
            await group.commit({("orders", 0): 0})
        with pytest.raises(ValueError, match="so no other client can delete it"):
            await group.delete()
        await consumer.stop()

        assert await group.reset(to="earliest") == {("orders", 0): 0, ("orders", 1): 0}
        assert group.lag == {("orders", 0): 4, ("orders", 1): 1}
        assert await group.reset(to="latest", topic="orders") == {("orders", 0): 4, ("orders", 1): 1}
        with pytest.raises(ValueError, match="orders-1 has offsets 0 to 1; the group cannot be reset to 3"):
            await group.reset(to=3)
        await group.delete()
        assert (group.state, group.offsets) == ("Dead", {})
        with pytest.raises(ValueError, match="GROUP_ID_NOT_FOUND"):
            await group.delete()
        assert kafka.violations == []


@pytest.mark.parametrize(
    ("offsets", "advice"),
    [
        ({}, "no offsets to commit"),
        ({"orders": 5}, "offsets must be a mapping"),
        ({("orders", 7): 5}, "has partitions 0 to 0, not 7"),
        ({("orders", 0): -1}, "non-negative integer, got -1"),
        ({("bills", 0): 1}, "topic bills does not exist"),
        (5, "offsets must be a mapping"),
    ],
)
async def test_invalid_commit_is_rejected(offsets: object, advice: str) -> None:
    async with Cluster() as kafka:
        kafka.topics.create("orders")
        with pytest.raises(ValueError, match=advice):
            await kafka.group("billing").commit(offsets)  # type: ignore[arg-type]


async def test_reset_offset_is_no_violation() -> None:
    async with Cluster() as kafka:
        kafka.topics.create("orders")
        kafka.topics.append("orders", "a", "b", "c")
        group = kafka.group("billing")
        for first in (b"a", b"a"):
            consumer = AIOKafkaConsumer(
                "orders", bootstrap_servers=kafka.bootstrap, group_id="billing", auto_offset_reset="earliest"
            )
            await consumer.start()
            assert (await consumer.getone()).value == first
            await consumer.commit()
            await consumer.stop()
            await group.reset(to="earliest")
        assert kafka.violations == []


async def test_repr_shows_state() -> None:
    async with Cluster(seed=3) as kafka:
        kafka.topics.create("orders", partitions=2)
        gate = kafka.gates.hold("join-complete")
        await kafka.group("billing").commit({("orders", 0): 0})
        assert repr(kafka.topics) == "<topics: orders (2 partitions)>"
        assert repr(kafka.group("billing")) == "<group billing (Empty, generation 0, members: none)>"
        assert repr(kafka.gates) == "<gates: gate join-complete (0 held)>"
        gate.open()
        assert repr(kafka.faults) == "<faults: none>"
        assert repr(kafka).startswith(f"<cluster {kafka.bootstrap}, seed 3, groups: group billing (Empty")
        assert "runs 1 times as fast" in repr(kafka.clock)


def test_prompt_completes_attributes() -> None:
    with Cluster() as kafka:
        assert {"bootstrap", "topics", "group"} <= set(dir(kafka))
        assert {"lag", "wait_caught_up", "reset"} <= set(dir(kafka.group("billing")))
