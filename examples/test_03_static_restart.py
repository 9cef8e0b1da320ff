"""A static member restarts, and nothing moves.

With `group.instance.id` a consumer that returns within its session timeout receives its partitions without a rebalance.
Without it a restart causes two rebalances.
"""

from __future__ import annotations

import asyncio
from typing import Any


async def test_static_member_keeps_partitions(kafka: Any, consumer: Any) -> None:
    group = kafka.group("billing")
    ada, _ = await asyncio.gather(
        consumer("ada", group_instance_id="desk-1"), consumer("bob", group_instance_id="desk-2")
    )
    await group.wait_stable(members=2)
    generation, had = group.generation, group.member("desk-1").partitions
    await ada.stop()
    await kafka.clock.advance(seconds=30)
    await consumer("ada", group_instance_id="desk-1")
    await group.wait_stable(members=2)
    assert group.generation == generation
    assert group.member("desk-1").partitions == had


async def test_dynamic_member_causes_two_rebalances(kafka: Any, consumer: Any) -> None:
    group = kafka.group("billing")
    ada, _ = await asyncio.gather(consumer("ada"), consumer("bob"))
    await group.wait_stable(members=2)
    generation = group.generation
    await ada.stop()
    await group.wait_stable(members=1)
    await consumer("ada")
    await group.wait_stable(members=2)
    assert group.generation == generation + 2
