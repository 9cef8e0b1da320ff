"""A crash is not a leave.

When a consumer closes, its partitions move at once. When it crashes, they move only after its session timeout:
45 seconds by default, which pass in milliseconds here.
"""

from __future__ import annotations

import asyncio
import time
from typing import Any

from examples.conftest import clients


async def test_leave_is_immediate(kafka: Any, consumer: Any) -> None:
    group = kafka.group("billing")
    _, bob = await asyncio.gather(consumer("ada"), consumer("bob"))
    await group.wait_stable(members=2)
    await bob.stop()
    await group.wait_stable(members=1)
    assert group.history[-1].cause == "leave explicit"


async def test_crash_takes_a_session_timeout(kafka: Any, consumer: Any) -> None:
    group = kafka.group("billing")
    await asyncio.gather(consumer("ada"), consumer("bob"))
    await group.wait_stable(members=2)
    bob = group.member("bob")
    kafka.faults.freeze(group="billing", member=bob.member_id)
    began = time.monotonic()
    await kafka.clock.advance(seconds=40)
    assert clients(group) == {"ada", "bob"}, "not yet"
    await kafka.clock.advance(seconds=6)
    await group.wait_stable(members=1)
    assert clients(group) == {"ada"}
    assert group.history[-1].cause == "session expired"
    assert group.history[-1].actor == "bob"
    assert time.monotonic() - began < 45, "45 seconds did not take 45 seconds"
