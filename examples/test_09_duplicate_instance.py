"""Two processes with the same `group.instance.id`.

The newcomer takes the place of the other one, which is fenced. Some clients give up then. aiokafka asks for the place
again, and so they take turns for ever: no rebalance is seen, and no partition is read in peace.
"""

from __future__ import annotations

from typing import Any


async def test_they_take_turns_and_no_rebalance_shows_it(kafka: Any, consumer: Any) -> None:
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
