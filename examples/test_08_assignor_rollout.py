"""A rolling change of the assignor.

Members may list several assignors; the group uses one that every member lists. A change therefore takes two
deployments: first both assignors, then only the new one. A member that lists only the new one while others list only
the old one is rejected.
"""

from __future__ import annotations

from typing import Any

import pytest
from aiokafka.coordinator.assignors.range import RangePartitionAssignor
from aiokafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor
from aiokafka.errors import InconsistentGroupProtocolError

OLD, NEW = RangePartitionAssignor, RoundRobinPartitionAssignor


async def test_two_deployments_change_assignor(kafka: Any, consumer: Any) -> None:
    group = kafka.group("billing")
    ada = await consumer("ada", partition_assignment_strategy=[OLD])
    await group.wait_stable(members=1)
    assert group.protocol == "range"
    bob = await consumer("bob", partition_assignment_strategy=[OLD, NEW])
    await ada.stop()
    await consumer("ada", partition_assignment_strategy=[OLD, NEW])
    await group.wait_stable(members=2)
    await bob.stop()
    await consumer("bob", partition_assignment_strategy=[NEW])
    await group.wait_stable(members=2)
    assert group.protocol == "roundrobin"


async def test_one_deployment_is_rejected(kafka: Any, consumer: Any) -> None:
    await consumer("ada", partition_assignment_strategy=[OLD])
    with pytest.raises(InconsistentGroupProtocolError):
        await consumer("bob", partition_assignment_strategy=[NEW])
