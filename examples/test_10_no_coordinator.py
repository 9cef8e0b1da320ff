"""The group's partition of `__consumer_offsets` has no leader.

Its only replica is on a stopped node: the group has no coordinator, and its members can only look for one. When the
node restarts they continue in the same generation.
"""

from __future__ import annotations

import asyncio
from typing import Any

import pytest


@pytest.mark.kafka(nodes=2, settings={"offsets.topic.replication.factor": 1})
async def test_group_waits_for_its_coordinator(kafka: Any, consumer: Any) -> None:
    group = kafka.group("billing")
    await asyncio.gather(consumer("ada", group_instance_id="desk-1"), consumer("bob", group_instance_id="desk-2"))
    await group.wait_stable(members=2)
    generation, home = group.generation, group.coordinator
    await kafka.stop_node(home)
    assert group.coordinator is None
    assert group.state == "Dead", "the group has no coordinator"
    await kafka.start_node(home)
    await group.wait_stable(members=2)
    assert group.coordinator == home
    assert group.generation == generation
