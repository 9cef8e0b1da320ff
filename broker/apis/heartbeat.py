"""Heartbeat (key 12), versions 0-4: keeps a member in its group, and reports rebalances to it.

v1: throttle time. v2: as v1. v3: KIP-345, group instance ids. v4: flexible.
"""

from typing import Final

from kohort.broker.cluster.node import Node
from kohort.broker.ticket import Ticket
from kohort.coordinator.classic.classic_requests import heartbeat_in_consumer_group
from kohort.coordinator.classic.heartbeating import heartbeat
from kohort.protocol.errors import ErrorCode
from kohort.protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from kohort.security.rights import READ_GROUP

_UNKNOWN_MEMBER_ID: Final = ErrorCode.unknown_member_id

# responses are created once, because they never vary
ANSWERS: Final = {error_code: HeartbeatResponse(error_code=error_code) for error_code in ErrorCode}


def handle(node: Node, request: HeartbeatRequest, ticket: Ticket) -> HeartbeatResponse:
    access = node.cluster.access
    if access is not None and not access.allows(ticket, READ_GROUP, request.group_id):
        return ANSWERS[ErrorCode.group_authorization_failed]
    return ANSWERS[validate_heartbeat(node, request, ticket.received_at_ms)]


def validate_heartbeat(node: Node, request: HeartbeatRequest, now_ms: int) -> ErrorCode:
    """Return the group's error code, whatever its protocol. Authorization is not checked."""
    group_id, member_id, instance_id = request.group_id, request.member_id, request.group_instance_id
    error_code = heartbeat(node.coordinator, group_id, member_id, instance_id, request.generation_id, now_ms)
    if error_code is not _UNKNOWN_MEMBER_ID:
        return error_code
    return heartbeat_in_consumer_group(
        node.coordinator, group_id, member_id, instance_id, request.generation_id, now_ms
    )


def error_response(request: HeartbeatRequest, error_code: ErrorCode) -> HeartbeatResponse:
    return ANSWERS[error_code]
