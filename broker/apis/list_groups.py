"""ListGroups (key 16), versions 0-5: the groups that this node coordinates.

v1: throttle time. v2: as v1. v3: flexible. v4: KIP-518, states, and a filter by them. v5: KIP-848, types, and a filter.
"""

from kohort.broker.cluster.node import Node
from kohort.broker.scheduling.cooperative import Task, one_by_one
from kohort.broker.ticket import Ticket
from kohort.coordinator.groups.describing import groups_by_partition, listed, to_list
from kohort.protocol.errors import ErrorCode
from kohort.protocol.messages.list_groups import ListedGroup, ListGroupsRequest, ListGroupsResponse
from kohort.security.acls import CLUSTER_NAME
from kohort.security.rights import DESCRIBE_CLUSTER, DESCRIBE_GROUP


def handle(node: Node, request: ListGroupsRequest, ticket: Ticket) -> Task[ListGroupsResponse]:
    """Return groups in Kafka's order. A client must send the request to all nodes to see all groups."""
    tables = groups_by_partition(node.coordinator)
    if isinstance(tables, ErrorCode):
        return error_response(request, tables)
    access = node.cluster.access
    shows_all = access is None or access.shows(ticket, DESCRIBE_CLUSTER, CLUSTER_NAME)
    answer: list[ListedGroup] = []
    states = frozenset(state.strip().lower() for state in request.states_filter)
    types = frozenset(name.lower() for name in request.types_filter)
    for table in tables:
        groups = to_list(table, states, types)
        if access is not None and not shows_all:
            groups = [group for group in groups if access.shows(ticket, DESCRIBE_GROUP, group.group_id)]
        answer += yield from one_by_one(listed, groups)
    return ListGroupsResponse(error_code=ErrorCode.none, groups=tuple(answer))


def error_response(request: ListGroupsRequest, error_code: ErrorCode) -> ListGroupsResponse:
    return ListGroupsResponse(error_code=error_code, groups=())
