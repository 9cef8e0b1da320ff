"""Authorized operations of a client on a resource, as in responses: one bit for each operation (KIP-430)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kohort.security.acls import CLUSTER_NAME, ResourceType
from kohort.security.rights import ALL_OPERATIONS, DESCRIBE_CLUSTER

if TYPE_CHECKING:
    from kohort.broker.cluster.node import Node
    from kohort.broker.ticket import Ticket


def operations(node: Node, ticket: Ticket, resource_type: ResourceType, name: str) -> int:
    """Return the operations that the sender may perform on a resource, existing or not; all without an authorizer."""
    access = node.cluster.access
    return ALL_OPERATIONS[resource_type] if access is None else access.operations(ticket, resource_type, name)


def cluster_operations(node: Node, ticket: Ticket) -> int:
    """Return the operations that the sender may perform on the cluster; none without the right to describe it."""
    access = node.cluster.access
    if access is not None and not access.allows_on_cluster(ticket, DESCRIBE_CLUSTER):
        return 0
    return operations(node, ticket, ResourceType.CLUSTER, CLUSTER_NAME)
