"""Kafka cluster for tests: in the test's process, with a clock that the test controls.

    async with Cluster(nodes=3) as kafka:
        consumer = AIOKafkaConsumer("orders", bootstrap_servers=kafka.bootstrap, group_id="billing")

`with Cluster() as kafka` is the same for tests that are not asynchronous, with the same methods.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kohort.control.groups.lab_group import Group, Migration
    from kohort.control.groups.lab_share_group import ShareGroup
    from kohort.control.groups.lab_streams_group import StreamsGroup
    from kohort.control.oracle.safety import Budget
    from kohort.groups.group_members import GroupMember, TaskMember
    from kohort.testing.cluster import Cluster
    from kohort.testing.proxy_cluster import Proxy
    from kohort.testing.replaying import replay, replay_async
    from kohort.testing.sync import (
        SyncClock,
        SyncCluster,
        SyncFaults,
        SyncGroup,
        SyncProxy,
        SyncRule,
        SyncShareGroup,
        SyncStreamsGroup,
    )

__all__ = [
    "Budget",
    "Cluster",
    "Group",
    "GroupMember",
    "Migration",
    "Proxy",
    "ShareGroup",
    "StreamsGroup",
    "SyncClock",
    "SyncCluster",
    "SyncFaults",
    "SyncGroup",
    "SyncProxy",
    "SyncRule",
    "SyncShareGroup",
    "SyncStreamsGroup",
    "TaskMember",
    "replay",
    "replay_async",
]

_HOMES = {
    "Budget": "control.oracle.safety",
    "Cluster": "testing.cluster",
    "Group": "control.groups.lab_group",
    "GroupMember": "groups.group_members",
    "Migration": "control.groups.lab_group",
    "Proxy": "testing.proxy_cluster",
    "ShareGroup": "control.groups.lab_share_group",
    "StreamsGroup": "control.groups.lab_streams_group",
    "SyncClock": "testing.sync",
    "SyncCluster": "testing.sync",
    "SyncFaults": "testing.sync",
    "SyncGroup": "testing.sync",
    "SyncProxy": "testing.sync",
    "SyncRule": "testing.sync",
    "SyncShareGroup": "testing.sync",
    "SyncStreamsGroup": "testing.sync",
    "TaskMember": "groups.group_members",
    "replay": "testing.replaying",
    "replay_async": "testing.replaying",
}


def __getattr__(name: str) -> Any:
    """Import a public name on first use, because pytest imports this package for its plugin in every run."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__} has no attribute {name}")
    from kohort.base.lean_imports import without

    with without("hypothesis"):
        return getattr(import_module(f"kohort.{_HOMES[name]}"), name)
