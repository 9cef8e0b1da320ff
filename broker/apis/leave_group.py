"""LeaveGroup (key 13), versions 0-5: removes members, on their own or an administrator's request.

v0: one member, whose error is that of the response. v1: throttle time. v2: as v1. v3: KIP-345, several members, by id
or instance id, each with its own result. v4: flexible. v5: KIP-800, a reason.
"""

from kohort.broker.cluster.node import Node
from kohort.broker.ticket import Ticket
from kohort.coordinator.classic.classic_requests import leave_group
from kohort.protocol.errors import ErrorCode
from kohort.protocol.messages.leave_group import LeaveGroupRequest, LeaveGroupResponse
from kohort.security.rights import READ_GROUP


def handle(node: Node, request: LeaveGroupRequest, ticket: Ticket) -> LeaveGroupResponse | None:
    """Remove members. If the group is empty afterwards, the response is sent when that is written."""
    access = node.cluster.access
    if access is not None and not access.allows(ticket, READ_GROUP, request.group_id):
        return error_response(request, ErrorCode.group_authorization_failed)
    return leave_group(node.coordinator, request, ticket, ticket.received_at_ms)


def error_response(request: LeaveGroupRequest, error_code: ErrorCode) -> LeaveGroupResponse:
    return LeaveGroupResponse(error_code=error_code, members=())
