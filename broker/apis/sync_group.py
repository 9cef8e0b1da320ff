"""SyncGroup (key 14), versions 0-5: the leader sends the assignments, and every member receives its own.

v1: throttle time. v2: as v1. v3: KIP-345, group instance ids. v4: flexible. v5: KIP-559, protocol type and name in
request and response; a request without them is rejected before all other checks.
"""

from kohort.broker.cluster.node import Node
from kohort.broker.ticket import Ticket
from kohort.coordinator.classic.classic_requests import sync_group
from kohort.coordinator.classic.replies import sync_refused
from kohort.protocol.errors import ErrorCode
from kohort.protocol.messages.sync_group import SyncGroupRequest, SyncGroupResponse
from kohort.security.rights import READ_GROUP


def handle(node: Node, request: SyncGroupRequest, ticket: Ticket) -> SyncGroupResponse | None:
    """Handle the request. The response of a follower waits for the leader's request."""
    if ticket.version >= 5 and (request.protocol_type is None or request.protocol_name is None):
        return sync_refused(ErrorCode.inconsistent_group_protocol)
    access = node.cluster.access
    if access is not None and not access.allows(ticket, READ_GROUP, request.group_id):
        return sync_refused(ErrorCode.group_authorization_failed)
    return sync_group(node.coordinator, request, ticket, ticket.received_at_ms)


def error_response(request: SyncGroupRequest, error_code: ErrorCode) -> SyncGroupResponse:
    return sync_refused(error_code)
