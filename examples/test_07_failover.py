"""The coordinator moves in the middle of a rebalance.

The old node forgets the group and rejects waiting joins, and the new node loads the group's records. Clients find the
new coordinator by themselves.
"""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from examples.conftest import clients


@pytest.mark.kafka(nodes=3)
async def test_waiting_joins_find_new_coordinator(kafka: Any, consumer: Any) -> None:
    group = kafka.group("billing")
    await asyncio.gather(consumer("ada"), consumer("bob"))
    await group.wait_stable(members=2)
    with kafka.faults.on("JoinGroup", client_id="ada", state="PreparingRebalance").hold():
        joining = asyncio.create_task(consumer("eve"))
        await group.wait_state("PreparingRebalance")
        old = group.coordinator
        group.move_coordinator(next(node for node in kafka.nodes if node != old))
        assert group.coordinator != old
    await joining
    await group.wait_stable(members=3)
    assert clients(group) == {"ada", "bob", "eve"}
