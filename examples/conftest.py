"""Fixtures of the examples: consumers with short heartbeat intervals."""

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
    """Function that starts a consumer of group `billing`; `await consumer("ada")` returns one that has joined."""
    consumers: list[AIOKafkaConsumer] = []
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
        consumers.append(AIOKafkaConsumer(TOPIC, bootstrap_servers=kafka.bootstrap, **settings))
        await consumers[-1].start()
        return consumers[-1]

    yield make
    kafka.faults.clear()
    await asyncio.gather(*map(stop, consumers))


async def stop(consumer: AIOKafkaConsumer) -> None:
    """Stop a consumer that may be waiting for fetches.

    aiokafka's own `stop` ends in CancelledError, before it closes its connections, if a fetch from a stopped node
    is about to be retried.
    """
    try:
        await consumer.stop()
    except asyncio.CancelledError:
        await consumer._client.close()


def clients(group: Any) -> set[str]:
    """Return the client ids of a group's members."""
    return {member.client_id for member in group.members}


def pytest_itemcollected(item: pytest.Item) -> None:
    item.add_marker(pytest.mark.clients)
    item.add_marker(pytest.mark.timeout(180))
