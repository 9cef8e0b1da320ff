"""Two processes with the same `group.instance.id`.

The second process replaces the first one, which is fenced. Some clients stop then. aiokafka joins again, so that the
two processes replace each other forever, without a rebalance, and neither process reads its partitions for long.
"""

from __future__ import annotations

from typing import Any


async def test_processes_replace_each_other(kafka: Any, consumer: Any) -> None:
    group = kafka.group("billing")
    await consumer("ada", group_instance_id="desk-1")
    await group.wait_stable(members=1)
    generation = group.generation
    await consumer("bob", group_instance_id="desk-1")

    def turns() -> int:
        return sum(event.kind == "member_replaced" for event in group.events)

    await group.wait_for(lambda: turns() >= 4, words="changing hands")
    assert len(group.members) == 1
    assert group.generation == generation
