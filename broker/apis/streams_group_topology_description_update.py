"""StreamsGroupTopologyDescriptionUpdate (key 93), version 0: store the description of a topology (KIP-1331)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kohort.broker.apis.streams_gate import serves_streams_groups
from kohort.coordinator.streams.describing_topologies import update_topology_description
from kohort.protocol.errors import ErrorCode
from kohort.protocol.messages.streams_group_topology_description_update import (
    StreamsGroupTopologyDescriptionUpdateRequest,
    StreamsGroupTopologyDescriptionUpdateResponse,
)
from kohort.security.rights import READ_GROUP

if TYPE_CHECKING:
    from kohort.broker.cluster.node import Node
    from kohort.broker.ticket import Ticket
    from kohort.coordinator.modern.group_refusals import Refusal


def handle(
    node: Node, request: StreamsGroupTopologyDescriptionUpdateRequest, ticket: Ticket
) -> StreamsGroupTopologyDescriptionUpdateResponse | None:
    """Store a description. The response is sent when the group's record is written."""
    if not serves_streams_groups(node):
        return error_response(request, ErrorCode.unsupported_version)
    access = node.cluster.access
    if access is not None and not access.allows(ticket, READ_GROUP, request.group_id):
        return error_response(request, ErrorCode.group_authorization_failed)

    def on_outcome(outcome: Refusal, _: int) -> None:
        ticket.reply(error_response(request, outcome.error, outcome.message))

    update_topology_description(node.coordinator, request, ticket.received_at_ms, on_outcome)
    return None


def error_response(
    request: StreamsGroupTopologyDescriptionUpdateRequest, error_code: ErrorCode, message: str | None = None
) -> StreamsGroupTopologyDescriptionUpdateResponse:
    return StreamsGroupTopologyDescriptionUpdateResponse(error_code=error_code, error_message=message)
