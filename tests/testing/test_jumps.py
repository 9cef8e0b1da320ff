"""The clock jumps beside real clients with the settings they come with, and nobody who lives is removed."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from typing import Any

import pytest
from aiokafka import AIOKafkaConsumer
from confluent_kafka import Consumer
from kafka import KafkaConsumer

from kohort.control.clock.jump import PATIENCE_S
from kohort.testing import Cluster, SyncCluster, SyncGroup
from tests.clients.polling import polled

pytestmark = [pytest.mark.clients, pytest.mark.timeout(180)]
logging.getLogger("aiokafka").setLevel(logging.CRITICAL)

JUMP_S = 46
"""More than a session of each client, and more than session and rebalance timeout of aiokafka together (20 s)."""

WORK_S = 0.3
"""How long a consumer of librdkafka has to work, in real time, before it gives up partitions."""


def with_kafka_python(bootstrap: str, name: str) -> Any:
    consumer = KafkaConsumer("orders", bootstrap_servers=bootstrap, group_id="billing", client_id=name)
    consumer.partitions_for_topic("orders")  # a leader that learns the partitions after it has joined joins again
    return consumer


def with_librdkafka(bootstrap: str, name: str, **more: str) -> Any:
    settings = {"bootstrap.servers": bootstrap, "group.id": "billing", "client.id": name} | more
    consumer = Consumer(settings)
    consumer.subscribe(["orders"], on_revoke=lambda *_: time.sleep(WORK_S))
    return consumer


def with_consumer_protocol(bootstrap: str, name: str) -> Any:
    return with_librdkafka(bootstrap, name, **{"group.protocol": "consumer"})


@contextmanager
def services(kafka: SyncCluster, make: Callable[[str, str], Any], wait: float) -> Iterator[SyncGroup]:
    """Ada and bob are in group `billing`, and polled in threads of their own."""
    with polled(make(kafka.bootstrap, "ada"), wait), polled(make(kafka.bootstrap, "bob"), wait):
        group = kafka.group("billing")
        group.wait_stable(members=2, timeout=60)
        yield group


def removed(group: SyncGroup) -> list[str | None]:
    return [event.client_id for event in group.events if event.kind == "member_removed"]


async def test_aiokafka_survives_crash_of_another() -> None:
    async with Cluster() as kafka:
        kafka.topics.create("orders", partitions=6)
        ada, bob = [
            AIOKafkaConsumer("orders", bootstrap_servers=kafka.bootstrap, group_id="billing", client_id=name)
            for name in ("ada", "bob")
        ]
        await asyncio.gather(ada.start(), bob.start())
        group = kafka.group("billing")
        await group.wait_stable(members=2)
        with kafka.faults.freeze(group="billing", member="bob"):
            await kafka.clock.advance(seconds=JUMP_S)
            await group.wait_stable(members=1)
            assert group.history[-1].cause == "session expired", group.timeline()
            assert [str(each) for each in group.members] == ["ada"]
        await asyncio.gather(ada.stop(), bob.stop())


@pytest.mark.parametrize(
    ("make", "wait"), [(with_kafka_python, 100), (with_librdkafka, 0.1), (with_consumer_protocol, 0.1)]
)
def test_polling_threads_survive_crashed_member(make: Callable[[str, str], Any], wait: Any) -> None:
    with Cluster() as kafka:
        kafka.topics.create("orders", partitions=6)
        with services(kafka, make, wait) as group, kafka.faults.freeze(group="billing", member="bob"):
            kafka.clock.advance(seconds=JUMP_S)
            group.wait_stable(members=1)
            assert removed(group) == ["bob"], group.timeline()
            assert [str(each) for each in group.members] == ["ada"]


def test_jump_over_rebalance_keeps_members() -> None:
    with Cluster() as kafka:
        kafka.topics.create("orders", partitions=6)
        with (
            services(kafka, with_consumer_protocol, 0.1) as group,
            polled(with_consumer_protocol(kafka.bootstrap, "eve"), 0.1),
        ):
            group.wait_for(lambda: any(each.revoking for each in group.members))
            kafka.clock.advance(hours=1)
            group.wait_stable(members=3)
            assert removed(group) == [], group.timeline()


@contextmanager
def left_by_bob() -> Iterator[tuple[SyncCluster, SyncGroup]]:
    """Bob leaves the group. Ada is alive, and is not polled any more."""
    with Cluster() as kafka:
        kafka.topics.create("orders", partitions=6)
        group = kafka.group("billing")
        with closing(with_kafka_python(kafka.bootstrap, "ada")) as ada:
            with polled(with_kafka_python(kafka.bootstrap, "bob"), 100):
                while not (group.state == "Stable" and len(group.members) == 2):
                    ada.poll(50)
            yield kafka, group


def test_jump_reports_late_members() -> None:
    with left_by_bob() as (kafka, group):
        with pytest.warns(
            UserWarning, match="continued without ada, which is alive and has not rejoined group billing"
        ) as told:
            kafka.clock.advance(minutes=6, patience=0.5)
        assert [each.filename for each in told] == [__file__]
        assert [str(each) for each in group.members] == []


def test_jump_without_patience_waits_for_nobody() -> None:
    with left_by_bob() as (kafka, group):
        began = time.monotonic()
        kafka.clock.advance(minutes=6, patience=0)
        assert time.monotonic() - began < PATIENCE_S, "one halt for ada, who can't rejoin, would have taken as long"
        assert removed(group) == ["bob", "ada"], group.timeline()


def test_jump_ignores_member_held_by_test() -> None:
    with Cluster() as kafka:
        kafka.topics.create("orders", partitions=6)
        with (
            services(kafka, with_kafka_python, 100) as group,
            kafka.faults.on("JoinGroup", client_id="ada").hold(),
        ):
            group.wait_stable(members=2)  # a leader of kafka-python may have joined again before its joins were held
            with polled(with_kafka_python(kafka.bootstrap, "eve"), 100):
                group.wait_state("PreparingRebalance")
                kafka.clock.advance(minutes=6)
                assert "ada" not in [member.client_id for member in group.members], group.timeline()
