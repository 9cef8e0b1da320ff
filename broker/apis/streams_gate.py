"""Settings that enable streams groups (KIP-1071)."""

from kohort.broker.cluster.node import Node
from kohort.coordinator.groups.group import STREAMS


def serves_streams_groups(node: Node) -> bool:
    """Return whether streams groups are enabled by `streams.version` and `group.coordinator.rebalance.protocols`."""
    protocols = node.coordinator.settings.group_coordinator_rebalance_protocols
    return node.cluster.features.serves_streams_groups and STREAMS in protocols
