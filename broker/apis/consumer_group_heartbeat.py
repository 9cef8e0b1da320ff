"""ConsumerGroupHeartbeat (key 68), versions 0-1: join a consumer group, stay in it, leave it (KIP-848).

v1: a regular expression to subscribe with, and a member id that the client makes (KIP-1082).

Left out on purpose: authorization.
"""

from kohort.broker.cluster.node import Node
from kohort.broker.ticket import Ticket
from kohort.coordinator.consumer.consumer_heartbeating import Sender, consumer_group_heartbeat, refused
from kohort.coordinator.consumer.refusing import Refusal
from kohort.protocol.errors import ErrorCode
from kohort.protocol.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)


def handle(node: Node, request: ConsumerGroupHeartbeatRequest, ticket: Ticket) -> ConsumerGroupHeartbeatResponse | None:
    """None: answered when what it changes is written."""
    sender = Sender(ticket, ticket.client_id, ticket.client_host, ticket.version)
    return consumer_group_heartbeat(node.coordinator, request, sender, ticket.received_at_ms)


def error_response(request: ConsumerGroupHeartbeatRequest, error_code: ErrorCode) -> ConsumerGroupHeartbeatResponse:
    """What a request hears that failed here."""
    return refused(Refusal(error_code))
