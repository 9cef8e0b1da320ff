"""Repeated heartbeats of the consumer protocol: a response without changes is encoded once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kohort.coordinator.consumer.checks import is_served
from kohort.coordinator.consumer.consumer_heartbeating import nothing_new
from kohort.coordinator.modern.epoch_heartbeat import Sender
from kohort.protocol.messages.consumer_group_heartbeat import MESSAGE

if TYPE_CHECKING:
    from kohort.broker.cluster.node import Node
    from kohort.broker.fast.cached_request import CachedRequest
    from kohort.broker.ticket import Ticket
    from kohort.protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatResponse


def encode_repeated(node: Node, cached: CachedRequest, now_ms: int) -> bytes | None:
    sender: Sender | None = cached.kept
    if sender is None:
        return None
    response = nothing_new(node.coordinator, cached.request, sender, now_ms)
    if response is None:
        return None
    frame = MESSAGE.write(sender.version, 0, response)
    assert isinstance(frame, bytes), "it is short"
    return frame


def handle_repeated(node: Node, cached: CachedRequest, ticket: Ticket) -> ConsumerGroupHeartbeatResponse | None:
    """Handle a heartbeat whose response has changes, and store the sender."""
    if cached.kept is None and is_served(node.coordinator.settings):
        cached.kept = Sender(None, ticket.client_id, ticket.client_host, ticket.version)
    response: ConsumerGroupHeartbeatResponse | None = ticket.api.handle(node, cached.request, ticket)
    return response
