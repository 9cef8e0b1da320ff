"""ListGroups (key 16), versions 0-5: the groups that this node coordinates.

v1: throttle time. v2: as v1. v3: flexible. v4: KIP-518, states, and a filter by them. v5: KIP-848, types, and a filter.

Left out on purpose: authorization.
"""

from kohort.broker.cluster.node import Node
from kohort.broker.ticket import Ticket
from kohort.coordinator.describing import list_groups
from kohort.protocol.errors import ErrorCode
from kohort.protocol.messages.list_groups import ListGroupsRequest, ListGroupsResponse


def handle(node: Node, request: ListGroupsRequest, ticket: Ticket) -> ListGroupsResponse:
    """Clients ask all nodes to see all groups."""
    return list_groups(node.coordinator, request.states_filter, request.types_filter)


def error_response(request: ListGroupsRequest, error_code: ErrorCode) -> ListGroupsResponse:
    """What a request hears that failed here."""
    return ListGroupsResponse(error_code=error_code, groups=())
