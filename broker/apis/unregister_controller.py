"""UnregisterController (key 94), version 0. No controller can be removed: kohort has only those of its nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kohort.broker.apis.acl_requests import needs_permission
from kohort.protocol.errors import CONTROLLER_ID_NOT_REGISTERED, ErrorCode
from kohort.protocol.messages.unregister_controller import UnregisterControllerRequest, UnregisterControllerResponse
from kohort.security.rights import ALTER_CLUSTER

if TYPE_CHECKING:
    from kohort.broker.cluster.node import Node
    from kohort.broker.ticket import Ticket


def handle(node: Node, request: UnregisterControllerRequest, ticket: Ticket) -> UnregisterControllerResponse:
    """Return CONTROLLER_ID_NOT_REGISTERED. Source: newer-release §1 rule 2."""
    access = node.cluster.access
    if access is not None and not access.allows_on_cluster(ticket, ALTER_CLUSTER):
        message = needs_permission(ticket, ALTER_CLUSTER)
        return error_response(request, ErrorCode.cluster_authorization_failed, message)
    message = f"Controller ID {request.controller_id} is not currently registered."
    return error_response(request, CONTROLLER_ID_NOT_REGISTERED, message)


def error_response(
    request: UnregisterControllerRequest, error_code: ErrorCode, message: str | None = None
) -> UnregisterControllerResponse:
    return UnregisterControllerResponse(error_code=error_code, error_message=message)
