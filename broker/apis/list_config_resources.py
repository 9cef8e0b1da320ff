"""ListConfigResources (key 74), versions 0 and 1.

v0 client metrics only, which don't exist here (KIP-714) · v1 any types of resources (KIP-1142).

All topics and brokers are listed, and groups that have settings.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from kohort.broker.apis.config_resources import BROKER, BROKER_LOGGER, CLIENT_METRICS, GROUP, TOPIC
from kohort.protocol.errors import ErrorCode
from kohort.protocol.messages.list_config_resources import (
    ConfigResource,
    ListConfigResourcesRequest,
    ListConfigResourcesResponse,
)
from kohort.security.rights import DESCRIBE_CONFIGS_CLUSTER

if TYPE_CHECKING:
    from kohort.broker.cluster.node import Node
    from kohort.broker.ticket import Ticket

TYPES_FROM = 1


def handle(node: Node, request: ListConfigResourcesRequest, ticket: Ticket) -> ListConfigResourcesResponse:
    """Return the names of resources, or UNSUPPORTED_VERSION, as in Kafka, if one of the types is unknown."""
    access = node.cluster.access
    if access is not None and not access.allows_on_cluster(ticket, DESCRIBE_CONFIGS_CLUSTER):
        return ListConfigResourcesResponse(error_code=ErrorCode.cluster_authorization_failed, config_resources=())
    types = set(request.resource_types or _NAMES) if ticket.version >= TYPES_FROM else {CLIENT_METRICS}
    if not types <= _NAMES.keys():
        return ListConfigResourcesResponse(error_code=ErrorCode.unsupported_version, config_resources=())
    return ListConfigResourcesResponse(
        error_code=ErrorCode.none,
        config_resources=tuple(
            ConfigResource(resource_name=name, resource_type=kind)
            for kind, names in _NAMES.items()
            if kind in types
            for name in names(node)
        ),
    )


def _brokers(node: Node) -> Iterable[str]:
    return (str(broker.id) for broker in node.cluster.running_nodes)


_NAMES: dict[int, Callable[[Node], Iterable[str]]] = {
    GROUP: lambda node: node.cluster.group_configs,
    CLIENT_METRICS: lambda node: (),
    BROKER_LOGGER: _brokers,
    BROKER: _brokers,
    TOPIC: lambda node: (topic.name for topic in node.cluster.topics),
}  # returns the names of the resources of each type
