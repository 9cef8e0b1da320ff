"""The group's partition of `__consumer_offsets` has no leader.

Its only copy is on a node that is stopped: the group has no coordinator, and its members can do nothing but look for
one. When the node is back they go on, in the same generation.
"""

from __future__ import annotations

import asyncio
from typing import Any

import pytest


@pytest.mark.kafka(nodes=2, settings={"offsets.topic.replication.factor": 1})
async def test_a_group_without_a_coordinator_waits_for_it(kafka: Any, consumer: Any) -> None:
    group = kafka.group("billing")
    await asyncio.gather(consumer("ada", group_instance_id="desk-1"), consumer("bob", group_instance_id="desk-2"))
    await group.wait_stable(members=2)
    generation, home = group.generation, group.coordinator
    await kafka.stop_node(home)
    assert group.coordinator is None
    assert group.state == "Dead", "nobody knows it"
    await kafka.start_node(home)
    await group.wait_stable(members=2)
    assert group.coordinator == home
    assert group.generation == generation
