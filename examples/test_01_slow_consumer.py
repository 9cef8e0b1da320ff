"""A slow consumer stalls the group.

A rebalance waits for every member. A member that is processing a long batch does not rejoin, and no member consumes
meanwhile. Here ada's JoinGroup is held, as if its poll loop were busy; the clock is paused, so that the test decides
how long.
"""

from __future__ import annotations

import asyncio
from typing import Any

from examples.conftest import clients


async def test_group_waits_for_slow_member(kafka: Any, consumer: Any) -> None:
    group = kafka.group("billing")
    await asyncio.gather(consumer("ada"), consumer("bob"))
    await group.wait_stable(members=2)
    with kafka.faults.on("JoinGroup", client_id="ada").hold():
        joining = asyncio.create_task(consumer("eve"))
        await group.wait_for(lambda: group.state == "PreparingRebalance" and len(group.members) == 3)
        kafka.clock.pause()
        await group.wait_for(lambda: group.member("bob").waits_for == "join")
        await kafka.clock.advance(seconds=40)
        assert group.state == "PreparingRebalance", "bob and eve wait, 40 seconds by now"
        assert group.member("ada").waits_for == ""
    kafka.clock.run()
    await joining
    await group.wait_stable(members=3)
    slow = group.history[-1]
    assert slow.cause == "join new"
    assert slow.laggard == "ada"
    assert slow.prepare_ms >= 40_000
    assert clients(group) == {"ada", "bob", "eve"}
