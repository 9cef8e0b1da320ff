"""Heartbeat (key 12), versions 0-4: I am still here; is there anything I should know?

v1: throttle time. v2: as v1. v3: KIP-345, group instance ids. v4: flexible.
"""

from functools import lru_cache
from typing import Final

from kohort.broker.cluster.node import Node
from kohort.broker.familiar_request import Familiar
from kohort.broker.ticket import Ticket
from kohort.coordinator.classic.heartbeating import heartbeat
from kohort.coordinator.classic_requests import heartbeat_in_consumer_group
from kohort.protocol.errors import ErrorCode
from kohort.protocol.messages.heartbeat import MESSAGE, HeartbeatRequest, HeartbeatResponse
from kohort.security.rights import READ_GROUP

_UNKNOWN_MEMBER_ID: Final = ErrorCode.unknown_member_id

_ANSWERS: Final = {error_code: HeartbeatResponse(error_code=error_code) for error_code in ErrorCode}
"""Answers that never vary are made once."""


def handle(node: Node, request: HeartbeatRequest, ticket: Ticket) -> HeartbeatResponse:
    """Always answered at once."""
    access = node.cluster.access
    if access is not None and not access.allows(ticket, READ_GROUP, request.group_id):
        return _ANSWERS[ErrorCode.group_authorization_failed]
    return _ANSWERS[_heard(node, request, ticket.received_at_ms)]


def answer(node: Node, familiar: Familiar, now_ms: int) -> bytes:
    """As `handle` where nobody asks for rights, in bytes; see `Api.answer`."""
    return _frames(familiar.version)[_heard(node, familiar.request, now_ms)]


def _heard(node: Node, request: HeartbeatRequest, now_ms: int) -> ErrorCode:
    group_id, member_id, instance_id = request.group_id, request.member_id, request.group_instance_id
    error_code = heartbeat(node.coordinator, group_id, member_id, instance_id, request.generation_id, now_ms)
    if error_code is not _UNKNOWN_MEMBER_ID:
        return error_code
    return heartbeat_in_consumer_group(
        node.coordinator, group_id, member_id, instance_id, request.generation_id, now_ms
    )


@lru_cache
def _frames(version: int) -> dict[ErrorCode, bytes]:
    frames = {}
    for error_code, response in _ANSWERS.items():
        frame = MESSAGE.write(version, 0, response)
        assert isinstance(frame, bytes), "it is short"
        frames[error_code] = frame
    return frames


def error_response(request: HeartbeatRequest, error_code: ErrorCode) -> HeartbeatResponse:
    """What a request hears that failed here."""
    return _ANSWERS[error_code]
