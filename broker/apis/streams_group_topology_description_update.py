"""StreamsGroupTopologyDescriptionUpdate (key 93), version 0 (KIP-1331)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kohort.protocol.errors import ErrorCode
from kohort.protocol.messages.streams_group_topology_description_update import (
    StreamsGroupTopologyDescriptionUpdateRequest,
    StreamsGroupTopologyDescriptionUpdateResponse,
)

if TYPE_CHECKING:
    from kohort.broker.cluster.node import Node
    from kohort.broker.ticket import Ticket

NO_PLUGIN = "The broker has no streams group topology description plugin configured."


def handle(
    node: Node, request: StreamsGroupTopologyDescriptionUpdateRequest, ticket: Ticket
) -> StreamsGroupTopologyDescriptionUpdateResponse:
    """Return UNSUPPORTED_VERSION: no plugin is configured (newer-release §5 rule 6)."""
    return error_response(request, ErrorCode.unsupported_version, NO_PLUGIN)


def error_response(
    request: StreamsGroupTopologyDescriptionUpdateRequest, error_code: ErrorCode, message: str | None = None
) -> StreamsGroupTopologyDescriptionUpdateResponse:
    return StreamsGroupTopologyDescriptionUpdateResponse(error_code=error_code, error_message=message)
