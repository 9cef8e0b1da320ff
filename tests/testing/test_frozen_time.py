"""Clusters under freezegun (frozen time) and time-machine (time travel) keep using the machine's clock."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
import time_machine
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from confluent_kafka import Consumer
from freezegun import freeze_time

from kohort.control.control_errors import ControlError
from kohort.testing import Cluster
from kohort.testing.sync import SyncCluster

pytestmark = [pytest.mark.clients, pytest.mark.timeout(60)]
logging.getLogger("aiokafka").setLevel(logging.CRITICAL)

LEAP_DAY = "2024-02-29 12:00"


@contextmanager
def polling(bootstrap: str) -> Iterator[None]:
    """A member of the group billing, in a thread; librdkafka asks the system for the time."""
    consumer = Consumer(
        {"bootstrap.servers": bootstrap, "group.id": "billing", "client.id": "ada", "heartbeat.interval.ms": 100}
    )
    consumer.subscribe(["orders"])
    ends = threading.Event()

    def poll() -> None:
        while not ends.is_set():
            consumer.poll(0.05)
        consumer.close()

    thread = threading.Thread(target=poll)
    thread.start()
    try:
        yield
    finally:
        ends.set()
        thread.join()


def a_session_ends(kafka: SyncCluster) -> None:
    kafka.topics.create("orders")
    with polling(kafka.bootstrap):
        group = kafka.group("billing")
        group.wait_stable(members=1)
        with kafka.faults.freeze(group="billing", member="ada"):
            kafka.clock.advance(seconds=50, expire_live_members=True)
            group.wait_state("Empty")
            # Check before the fault ends: then ada receives UNKNOWN_MEMBER_ID and joins again.
            assert group.history[-1].cause == "session expired"


def test_frozen_time_around_test(kafka: SyncCluster) -> None:
    with freeze_time(LEAP_DAY):
        a_session_ends(kafka)


def test_cluster_is_created_under_freeze() -> None:
    with freeze_time(LEAP_DAY), Cluster() as kafka:
        a_session_ends(kafka)


@freeze_time(LEAP_DAY)
def test_decorator_freezes_time(kafka: SyncCluster) -> None:
    a_session_ends(kafka)


@pytest.mark.parametrize("tick", [False, True])
def test_wall_clock_may_be_changed(kafka: SyncCluster, tick: bool) -> None:
    with time_machine.travel(LEAP_DAY, tick=tick):
        a_session_ends(kafka)


@pytest.mark.parametrize("real_asyncio", [False, True])
async def test_clients_in_test_loop(kafka: Cluster, real_asyncio: bool) -> None:
    kafka.topics.create("orders")
    with freeze_time(LEAP_DAY, real_asyncio=real_asyncio):
        async with AIOKafkaProducer(bootstrap_servers=kafka.bootstrap) as producer:
            await producer.send_and_wait("orders", b"a")
        consumer = AIOKafkaConsumer(
            "orders", bootstrap_servers=kafka.bootstrap, group_id="billing", auto_offset_reset="earliest"
        )
        async with consumer:
            assert (await consumer.getone()).value == b"a"


async def test_frozen_loop_wait_raises() -> None:
    # the cluster is in the event loop of the test, where no timer fires
    async with Cluster() as kafka:
        with freeze_time(LEAP_DAY), pytest.raises(ControlError, match=r"stands still.*real_asyncio=True"):
            await kafka.group("billing").wait_stable(members=1)
        with freeze_time(LEAP_DAY, real_asyncio=True), pytest.raises(TimeoutError):
            await kafka.group("billing").wait_stable(members=1, timeout=0.05)
    await asyncio.sleep(0)
