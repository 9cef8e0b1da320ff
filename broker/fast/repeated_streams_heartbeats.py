"""Repeated heartbeats of streams groups: a response without changes is encoded once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kohort.broker.apis.streams_gate import serves_streams_groups
from kohort.broker.apis.streams_group_heartbeat import sender_of
from kohort.coordinator.streams.unchanged_heartbeats import nothing_new
from kohort.protocol.messages.streams_group_heartbeat import MESSAGE

if TYPE_CHECKING:
    from kohort.broker.cluster.node import Node
    from kohort.broker.fast.cached_request import CachedRequest
    from kohort.broker.ticket import Ticket
    from kohort.coordinator.modern.epoch_heartbeat import Sender
    from kohort.protocol.messages.streams_group_heartbeat import StreamsGroupHeartbeatResponse


class _RepeatedHeartbeat:
    """The sender of a heartbeat, and its last response without changes."""

    __slots__ = ("frame", "response", "sender")

    def __init__(self, sender: Sender) -> None:
        self.sender = sender
        self.response: StreamsGroupHeartbeatResponse | None = None
        self.frame = b""


def encode_repeated(node: Node, cached: CachedRequest, now_ms: int) -> bytes | None:
    repeated: _RepeatedHeartbeat | None = cached.kept
    if repeated is None or not serves_streams_groups(node):
        return None
    response = nothing_new(node.coordinator, cached.request, repeated.sender, now_ms)
    if response is None:
        return None
    if response is not repeated.response:  # the coordinator keeps it until the epoch or a setting changes
        frame = MESSAGE.write(repeated.sender.version, 0, response)
        assert isinstance(frame, bytes), "it is short"
        repeated.response, repeated.frame = response, frame
    return repeated.frame


def handle_repeated(node: Node, cached: CachedRequest, ticket: Ticket) -> StreamsGroupHeartbeatResponse | None:
    """Handle a heartbeat whose response has changes, and store the sender."""
    if cached.kept is None:
        cached.kept = _RepeatedHeartbeat(sender_of(ticket)._replace(ticket=None))
    response: StreamsGroupHeartbeatResponse | None = ticket.api.handle(node, cached.request, ticket)
    return response
