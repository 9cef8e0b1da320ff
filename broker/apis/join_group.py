"""JoinGroup (key 11), versions 0-9: joins a group or its next generation.

v0: no rebalance timeout, the session timeout is used. v1: KIP-62, a separate rebalance timeout. v2: throttle time.
v3: as v2. v4: KIP-394, a new member first gets an id. v5: KIP-345, group instance ids. v6: flexible. v7: KIP-559, the
protocol type in the response. v8: KIP-800, a reason. v9: KIP-814, a returning static leader may keep the assignment.
"""

from kohort.broker.cluster.node import Node
from kohort.broker.ticket import Ticket
from kohort.coordinator.classic.classic_requests import join_group
from kohort.coordinator.classic.joining import Joiner
from kohort.coordinator.classic.replies import join_refused
from kohort.protocol.errors import ErrorCode
from kohort.protocol.messages.join_group import JoinGroupRequest, JoinGroupResponse
from kohort.security.rights import READ_GROUP


def handle(node: Node, request: JoinGroupRequest, ticket: Ticket) -> JoinGroupResponse | None:
    """Join a group. The response waits for the other members, possibly for minutes."""
    access = node.cluster.access
    if access is not None and not access.allows(ticket, READ_GROUP, request.group_id):
        return error_response(request, ErrorCode.group_authorization_failed)
    version = ticket.version
    joiner = Joiner(
        ticket=ticket,
        client_id=ticket.client_id,
        client_host=ticket.client_host,
        has_rebalance_timeout=version >= 1,
        needs_member_id=version >= 4,
        can_skip_assignment=version >= 9,
    )
    return join_group(node.coordinator, request, joiner, ticket.received_at_ms)


def error_response(request: JoinGroupRequest, error_code: ErrorCode) -> JoinGroupResponse:
    return join_refused(error_code, "")
