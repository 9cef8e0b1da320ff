"""What the examples share: consumers that are quick to notice, as tests want them."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
from aiokafka import AIOKafkaConsumer

logging.getLogger("aiokafka").setLevel(logging.CRITICAL)

TOPIC = "orders"


@pytest.fixture
async def consumer(kafka: Any) -> AsyncIterator[Callable[..., Any]]:
    """Makes consumers of group `billing`; `await consumer("ada")` returns one that has joined."""
    made: list[AIOKafkaConsumer] = []
    kafka.topics.create(TOPIC, partitions=6)

    async def make(name: str, **settings: Any) -> AIOKafkaConsumer:
        settings = {
            "group_id": "billing",
            "client_id": name,
            "session_timeout_ms": 45_000,
            "heartbeat_interval_ms": 100,
            "rebalance_timeout_ms": 60_000,
            "auto_offset_reset": "earliest",
            "enable_auto_commit": False,
        } | settings
        made.append(AIOKafkaConsumer(TOPIC, bootstrap_servers=kafka.bootstrap, **settings))
        await made[-1].start()
        return made[-1]

    yield make
    kafka.faults.clear()
    await asyncio.gather(*map(stop, made))


async def stop(consumer: AIOKafkaConsumer) -> None:
    """Stop a consumer, whatever its fetches wait for.

    aiokafka's own `stop` ends in CancelledError, before it closes its connections, when a fetch from a stopped node
    is about to be tried again.
    """
    try:
        await consumer.stop()
    except asyncio.CancelledError:
        await consumer._client.close()


def clients(group: Any) -> set[str]:
    """The client ids of a group's members."""
    return {member.client_id for member in group.members}


def pytest_itemcollected(item: pytest.Item) -> None:
    """Real clients on real sockets."""
    item.add_marker(pytest.mark.clients)
    item.add_marker(pytest.mark.timeout(180))
