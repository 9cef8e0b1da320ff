"""The plugin's fixtures as a user has them. `make flakes` repeats this a thousand times, in four workers at a time."""

from __future__ import annotations

import asyncio
import logging
import os
from uuid import uuid4

import pytest
from aiokafka import AIOKafkaConsumer
from kafka import KafkaConsumer

from kohort.testing import Cluster, SyncCluster

logging.getLogger("aiokafka").setLevel(logging.CRITICAL)
pytestmark = pytest.mark.timeout(180)
TIMES = int(os.environ.get("KOHORT_TIMES", "1"))


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Each test as often as is asked for."""
    metafunc.fixturenames.append("time_again")
    metafunc.parametrize("time_again", range(TIMES))


def test_function_cluster(kafka: SyncCluster) -> None:
    kafka.topics.create("orders")
    assert kafka.topics.append("orders", "a", "b") == 0
    assert kafka.topics.values("orders") == [b"a", b"b"]


def test_session_cluster(kafka_session: SyncCluster) -> None:
    name = f"orders-{uuid4()}"
    kafka_session.topics.create(name, partitions=3)
    assert kafka_session.topics.end(name, partition=2) == 0


@pytest.mark.kafka(nodes=3, settings={"group.max.size": 2})
async def test_coroutine(kafka: Cluster) -> None:
    await kafka.clock.advance(seconds=45)
    assert kafka.clock.now_ms >= 45_000
    with pytest.raises(TimeoutError):
        await kafka.group("billing").wait_stable(timeout=0.01)


def test_waiting_consumer(kafka: SyncCluster) -> None:
    kafka.topics.create("orders", partitions=2)
    kafka.topics.append("orders", "a", "b", partition=1)
    consumer = KafkaConsumer(
        "orders", bootstrap_servers=kafka.bootstrap, group_id="billing", auto_offset_reset="earliest"
    )
    # Long, and once: kafka-python 3.0.12 hangs when a poll ends just while it rejoins for newer metadata.
    assert sum(map(len, consumer.poll(30_000).values())) == 2
    kafka.group("billing").wait_stable(members=1)
    consumer.close()
    assert kafka.group("billing").history[-1].cause == "leave explicit"


async def test_one_of_two_that_hangs(kafka: Cluster) -> None:
    kafka.topics.create("orders", partitions=4)
    members = [
        AIOKafkaConsumer(
            "orders",
            bootstrap_servers=kafka.bootstrap,
            group_id="billing",
            client_id=name,
            session_timeout_ms=45_000,
            heartbeat_interval_ms=50,
        )
        for name in ("ada", "bob")
    ]
    await asyncio.gather(*(each.start() for each in members))
    group = kafka.group("billing")
    await group.wait_stable(members=2)
    with kafka.faults.freeze(group="billing", member=group.member("bob").member_id):
        await kafka.clock.advance(seconds=46)
        await group.wait_stable(members=1)
    assert "session expired" in {each.cause for each in group.history}
    await asyncio.gather(*(each.stop() for each in members))


def test_forgotten_gate() -> None:
    with pytest.warns(UserWarning, match="still held"), Cluster() as kafka:
        kafka.gates.hold("join-complete")
