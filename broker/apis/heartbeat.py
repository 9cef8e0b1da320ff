"""Heartbeat (key 12), versions 0-4: I am still here; is there anything I should know?

v1: throttle time. v2: as v1. v3: KIP-345, group instance ids. v4: flexible.
"""

from kohort.broker.cluster.node import Node
from kohort.broker.ticket import Ticket
from kohort.coordinator.classic.heartbeating import heartbeat
from kohort.coordinator.classic_requests import heartbeat_in_consumer_group
from kohort.protocol.errors import ErrorCode
from kohort.protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from kohort.security.rights import READ_GROUP

_UNKNOWN_MEMBER_ID = ErrorCode.unknown_member_id

_ANSWERS = {error_code: HeartbeatResponse(error_code=error_code) for error_code in ErrorCode}
"""Answers that never vary are made once."""


def handle(node: Node, request: HeartbeatRequest, ticket: Ticket) -> HeartbeatResponse:
    """Always answered at once."""
    access = node.cluster.access
    if access is not None and not access.allows(ticket, READ_GROUP, request.group_id):
        return _ANSWERS[ErrorCode.group_authorization_failed]
    beat = (
        node.coordinator,
        request.group_id,
        request.member_id,
        request.group_instance_id,
        request.generation_id,
        ticket.received_at_ms,
    )
    error_code = heartbeat(*beat)
    if error_code is _UNKNOWN_MEMBER_ID:
        error_code = heartbeat_in_consumer_group(*beat)
    return _ANSWERS[error_code]


def error_response(request: HeartbeatRequest, error_code: ErrorCode) -> HeartbeatResponse:
    """What a request hears that failed here."""
    return _ANSWERS[error_code]
