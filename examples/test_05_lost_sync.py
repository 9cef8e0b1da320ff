"""A SyncGroup response is lost.

The coordinator has assigned the partitions, but one member did not receive the response. It retries; nothing else
happens. Try it with your own client: some fail, some wait for a whole request timeout.
"""

from __future__ import annotations

import asyncio
from typing import Any

from examples.conftest import clients


async def test_member_retries_lost_sync(kafka: Any, consumer: Any) -> None:
    group = kafka.group("billing")
    lost = kafka.faults.on("SyncGroup", client_id="bob").close_after_handling(times=1)
    await asyncio.gather(consumer("ada"), consumer("bob"))
    await group.wait_for(lambda: lost.acted == 1)  # the group is stable as soon as its leader has synced
    await group.wait_for(lambda: group.state == "Stable" and len(owned_partitions(group)) == 6)
    assert clients(group) == {"ada", "bob"}


def owned_partitions(group: Any) -> list[int]:
    return [partition for member in group.members for partition in member.partitions.get("orders", ())]
