"""ConsumerGroupHeartbeat (key 68), versions 0-1: join, stay in and leave a consumer group (KIP-848).

v1: a regular expression to subscribe with, and a member id that the client generates (KIP-1082).
"""

from functools import partial

from kohort.broker.cluster.node import Node
from kohort.broker.ticket import Ticket
from kohort.coordinator.consumer.checks import is_served
from kohort.coordinator.consumer.consumer_heartbeating import consumer_group_heartbeat, refused
from kohort.coordinator.modern.epoch_heartbeat import SeesTopic, Sender, sees_all
from kohort.coordinator.modern.group_refusals import Refusal
from kohort.protocol.errors import ErrorCode
from kohort.protocol.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)
from kohort.security.rights import DESCRIBE_TOPIC, READ_GROUP


def handle(node: Node, request: ConsumerGroupHeartbeatRequest, ticket: Ticket) -> ConsumerGroupHeartbeatResponse | None:
    """Handle a heartbeat. If it changes the group, the response is sent when the change is written."""
    access = node.cluster.access
    sees_topic: SeesTopic = sees_all
    if access is not None and is_served(node.coordinator.settings):
        if not access.allows(ticket, READ_GROUP, request.group_id):
            return error_response(request, ErrorCode.group_authorization_failed)
        names = dict.fromkeys(request.subscribed_topic_names or ())
        if not all(access.allows(ticket, DESCRIBE_TOPIC, name) for name in names):
            return error_response(request, ErrorCode.topic_authorization_failed)
        sees_topic = partial(access.shows, ticket, DESCRIBE_TOPIC)
    sender = Sender(ticket, ticket.client_id, ticket.client_host, ticket.version, sees_topic)
    return consumer_group_heartbeat(node.coordinator, request, sender, ticket.received_at_ms)


def error_response(request: ConsumerGroupHeartbeatRequest, error_code: ErrorCode) -> ConsumerGroupHeartbeatResponse:
    return refused(Refusal(error_code))
