"""Share groups in a cluster in the test's own process, with a real client."""

from __future__ import annotations

import asyncio

import pytest
from confluent_kafka import ShareConsumer

from kohort.testing import Cluster

pytestmark = [pytest.mark.clients, pytest.mark.timeout(180)]


def worker(kafka: Cluster) -> ShareConsumer:
    """One who accepts nothing until it is told to."""
    made = ShareConsumer(
        {
            "bootstrap.servers": kafka.bootstrap,
            "group.id": "queue",
            "client.id": "ada",
            "share.acknowledgement.mode": "explicit",
        }
    )
    made.subscribe(["orders"])
    return made


async def test_leader_loses_unwritten_state() -> None:
    async with Cluster(nodes=3) as kafka:
        kafka.topics.create("orders", replicas=3)
        kafka.topics.append("orders", "a", "b")
        queue = kafka.share_group("queue")
        queue.configure({"share.auto.offset.reset": "earliest"})
        ada = worker(kafka)
        got = list(await asyncio.to_thread(ada.poll, 0.1))
        while not got:
            got = list(await asyncio.to_thread(ada.poll, 0.1))
        await queue.wait_stable(members=1)
        ada.acknowledge(got[0])
        await asyncio.to_thread(ada.commit_sync, 30.0)
        await queue.wait_accepted(1)
        (before,) = queue.partitions
        assert (before.progress, before.acquired, before.lag) == ("active", 1, 1)

        assert before.leader is not None
        await kafka.stop_node(before.leader)
        (after,) = queue.partitions
        assert (after.progress, after.acquired) == ("not loaded", 0)
        assert after.leader not in (None, before.leader)
        assert "not loaded at any leader yet" in str(queue.explain())
        await asyncio.to_thread(ada.close)
        assert [str(each) for each in kafka.groups] == [str(queue)]
