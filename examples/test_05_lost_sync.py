"""A SyncGroup answer is lost.

The coordinator has handed out the partitions, and one member does not know. It asks again; nothing else happens. Try it
with a client of your own: some give up, some wait for a whole request timeout.
"""

from __future__ import annotations

import asyncio
from typing import Any

from examples.conftest import clients


async def test_a_member_that_did_not_hear_asks_again(kafka: Any, consumer: Any) -> None:
    group = kafka.group("billing")
    lost = kafka.faults.on("SyncGroup", client_id="bob").close_after_handling(times=1)
    await asyncio.gather(consumer("ada"), consumer("bob"))
    await group.wait_for(lambda: lost.acted == 1)  # the group is stable as soon as its leader has synced
    await group.wait_for(lambda: group.state == "Stable" and len(owned(group)) == 6)
    assert clients(group) == {"ada", "bob"}


def owned(group: Any) -> list[int]:
    """The partitions that have an owner."""
    return [partition for each in group.members for partition in each.partitions.get("orders", ())]
