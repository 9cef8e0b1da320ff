"""A zombie's commit is fenced.

bob hangs, is removed, and its partitions go to ada. When bob continues, it commits its progress with the previous
generation. The broker rejects the commit, so that ada's progress is not overwritten.
"""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from aiokafka import TopicPartition
from aiokafka.errors import CommitFailedError


async def test_removed_member_cannot_commit(kafka: Any, consumer: Any) -> None:
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
