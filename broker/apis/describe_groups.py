"""DescribeGroups (key 15), versions 0-6: groups with their members.

v1: throttle time. v2: as v1. v3: KIP-430, the operations a client may perform. v4: KIP-345, group instance ids.
v5: flexible. v6: KIP-1043, a group that does not exist is an error with a message; before it is Dead without one.
"""

from kohort.broker.apis.authorized_operations import operations
from kohort.broker.cluster.node import Node
from kohort.broker.scheduling.cooperative import Task, once_each
from kohort.broker.ticket import Ticket
from kohort.coordinator.groups.describing import as_answered, describe_group
from kohort.protocol.errors import ErrorCode
from kohort.protocol.messages.describe_groups import DescribedGroup, DescribeGroupsRequest, DescribeGroupsResponse
from kohort.security.acls import ResourceType
from kohort.security.rights import DESCRIBE_GROUP


def handle(node: Node, request: DescribeGroupsRequest, ticket: Ticket) -> Task[DescribeGroupsResponse]:
    """Describe groups in Kafka's order: unauthorized groups first, then the others by their partition."""
    names = yield from as_answered(node.coordinator, request.groups)
    described = yield from once_each(lambda group_id: _describe(node, group_id, request, ticket), names)
    if node.cluster.access is not None:
        described = tuple(sorted(described, key=lambda group: group.error_code is not _NOT_ALLOWED))
    return DescribeGroupsResponse(groups=described)


_NOT_ALLOWED = ErrorCode.group_authorization_failed


def _describe(node: Node, group_id: str, request: DescribeGroupsRequest, ticket: Ticket) -> DescribedGroup:
    access = node.cluster.access
    if access is not None and not access.allows(ticket, DESCRIBE_GROUP, group_id):
        return _refused(group_id, _NOT_ALLOWED)
    group = describe_group(node.coordinator, group_id)
    if ticket.version < 6 and group.error_code is ErrorCode.group_id_not_found:
        group.error_code, group.error_message = ErrorCode.none, None
    if request.include_authorized_operations and group.error_code is ErrorCode.none:
        group.authorized_operations = operations(node, ticket, ResourceType.GROUP, group_id)
    return group


def error_response(request: DescribeGroupsRequest, error_code: ErrorCode) -> DescribeGroupsResponse:
    return DescribeGroupsResponse(groups=tuple(_refused(group_id, error_code) for group_id in request.groups))


def _refused(group_id: str, error_code: ErrorCode) -> DescribedGroup:
    return DescribedGroup(
        error_code=error_code, group_id=group_id, group_state="", protocol_type="", protocol_data="", members=()
    )
