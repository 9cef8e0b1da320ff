"""ListGroups (key 16), versions 0-5: the groups that this node coordinates.

v1: throttle time. v2: as v1. v3: flexible. v4: KIP-518, states, and a filter by them. v5: KIP-848, types, and a filter.
"""

from kohort.broker.cluster.node import Node
from kohort.broker.slices import Slices, one_by_one
from kohort.broker.ticket import Ticket
from kohort.coordinator.describing import groups_to_list, listed
from kohort.protocol.errors import ErrorCode
from kohort.protocol.messages.list_groups import ListGroupsRequest, ListGroupsResponse
from kohort.security.acls import CLUSTER_NAME
from kohort.security.rights import DESCRIBE_CLUSTER, DESCRIBE_GROUP


def handle(node: Node, request: ListGroupsRequest, ticket: Ticket) -> Slices[ListGroupsResponse]:
    """Clients ask all nodes to see all groups."""
    groups = groups_to_list(node.coordinator, request.states_filter, request.types_filter)
    if isinstance(groups, ErrorCode):
        return error_response(request, groups)
    access = node.cluster.access
    if access is not None and not access.shows(ticket, DESCRIBE_CLUSTER, CLUSTER_NAME):
        groups = [group for group in groups if access.shows(ticket, DESCRIBE_GROUP, group.group_id)]
    return ListGroupsResponse(error_code=ErrorCode.none, groups=(yield from one_by_one(listed, groups)))


def error_response(request: ListGroupsRequest, error_code: ErrorCode) -> ListGroupsResponse:
    """What a request hears that failed here."""
    return ListGroupsResponse(error_code=error_code, groups=())
