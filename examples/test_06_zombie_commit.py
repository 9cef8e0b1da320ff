"""A zombie's commit is fenced.

bob hangs, is thrown out, and its partitions go to ada. When bob wakes up it commits what it had done: in a generation
that is over. The broker refuses, so that ada's progress is not set back.
"""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from aiokafka import TopicPartition
from aiokafka.errors import CommitFailedError


async def test_who_was_thrown_out_cannot_commit(kafka: Any, consumer: Any) -> None:
    group = kafka.group("billing")
    _, bob = await asyncio.gather(consumer("ada"), consumer("bob"))
    await group.wait_stable(members=2)
    partition = group.member("bob").partitions["orders"][0]
    with kafka.faults.freeze(group="billing", member=group.member("bob").member_id):
        await kafka.clock.advance(seconds=46)
        await group.wait_stable(members=1)
    with pytest.raises(CommitFailedError):
        await bob.commit({TopicPartition("orders", partition): 1_000})
    assert ("orders", partition) not in group.offsets
