"""ShareGroupHeartbeat (key 76), version 1: join, stay in and leave a share group (KIP-932)."""

from kohort.broker.cluster.node import Node
from kohort.broker.ticket import Ticket
from kohort.coordinator.modern.epoch_heartbeat import Sender
from kohort.coordinator.modern.group_refusals import Refusal
from kohort.coordinator.share.share_checks import is_member_id
from kohort.coordinator.share.share_heartbeating import refused, share_group_heartbeat
from kohort.protocol.errors import ErrorCode
from kohort.protocol.messages.share_group_heartbeat import ShareGroupHeartbeatRequest, ShareGroupHeartbeatResponse
from kohort.security.rights import DESCRIBE_TOPIC, READ_GROUP


def handle(node: Node, request: ShareGroupHeartbeatRequest, ticket: Ticket) -> ShareGroupHeartbeatResponse | None:
    """Handle a heartbeat. If it changes the group, the response is sent when the change is written."""
    access = node.cluster.access
    if not node.cluster.features.serves_share_groups:
        return error_response(request, ErrorCode.unsupported_version)
    if access is not None and not access.allows(ticket, READ_GROUP, request.group_id):
        return error_response(request, ErrorCode.group_authorization_failed)
    if not is_member_id(request.member_id):
        return error_response(request, ErrorCode.invalid_request)
    names = dict.fromkeys(request.subscribed_topic_names or ())
    if access is not None and not all(access.allows(ticket, DESCRIBE_TOPIC, name) for name in names):
        return error_response(request, ErrorCode.topic_authorization_failed)
    sender = Sender(ticket, ticket.client_id, ticket.client_host)
    return share_group_heartbeat(node.coordinator, request, sender, ticket.received_at_ms)


def error_response(request: ShareGroupHeartbeatRequest, error_code: ErrorCode) -> ShareGroupHeartbeatResponse:
    return refused(Refusal(error_code))
