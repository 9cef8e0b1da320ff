"""A Kafka cluster for tests: in this process, on a clock of the test's own.

    async with Cluster(nodes=3) as kafka:
        consumer = AIOKafkaConsumer("orders", bootstrap_servers=kafka.bootstrap, group_id="billing")

`with Cluster() as kafka` is the same for tests that are not asynchronous, with the same words.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kohort.control.group_members import GroupMember
    from kohort.control.lab_group import Group, Migration
    from kohort.control.safety import Budget
    from kohort.testing.cluster import Cluster
    from kohort.testing.proxy_cluster import Proxy
    from kohort.testing.sync import SyncClock, SyncCluster, SyncGroup

__all__ = ["Budget", "Cluster", "Group", "GroupMember", "Migration", "Proxy", "SyncClock", "SyncCluster", "SyncGroup"]


def __getattr__(name: str) -> Any:
    """Loads the broker when it is first asked for: pytest loads this package for its plugin in every run."""
    if name not in __all__:
        raise AttributeError(f"module {__name__} has no attribute {name}")
    from kohort.broker.lean_imports import without

    with without("hypothesis"):
        from kohort.control import lab_group, safety
        from kohort.testing import cluster, proxy_cluster, sync
    rooms = {
        "Budget": safety,
        "Cluster": cluster,
        "Proxy": proxy_cluster,
        "SyncClock": sync,
        "SyncCluster": sync,
        "SyncGroup": sync,
    }
    return getattr(rooms.get(name, lab_group), name)
