"""Heartbeats of the consumer protocol that come again: a member that hears nothing new is answered in kept bytes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kohort.coordinator.consumer.checks import is_served
from kohort.coordinator.consumer.consumer_heartbeating import Sender, nothing_new
from kohort.protocol.messages.consumer_group_heartbeat import MESSAGE

if TYPE_CHECKING:
    from kohort.broker.cluster.node import Node
    from kohort.broker.fast.cached_request import CachedRequest
    from kohort.broker.ticket import Ticket
    from kohort.protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatResponse


def encode_repeated(node: Node, cached: CachedRequest, now_ms: int) -> bytes | None:
    """See `Repeated.answer`."""
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
    """Handles one that has something to hear, and keeps whose it is."""
    if cached.kept is None and is_served(node.coordinator.settings):
        cached.kept = Sender(None, ticket.client_id, ticket.client_host, ticket.version)
    response: ConsumerGroupHeartbeatResponse | None = ticket.api.handle(node, cached.request, ticket)
    return response
