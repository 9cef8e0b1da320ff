"""CreateDelegationToken (key 38), versions 1 to 3: always rejected, see delegation_tokens.py.

v1 (KIP-48) · v2 tagged fields · v3 tokens for another user (KIP-373).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kohort.broker.apis.delegation_tokens import DISABLED, NEVER_ASKED, refusal
from kohort.protocol.errors import ErrorCode
from kohort.protocol.messages.create_delegation_token import CreateDelegationTokenRequest, CreateDelegationTokenResponse
from kohort.security.principal import USER, Principal
from kohort.security.rights import CREATE_TOKENS_USER

if TYPE_CHECKING:
    from kohort.broker.cluster.node import Node
    from kohort.broker.ticket import Ticket


def handle(node: Node, request: CreateDelegationTokenRequest, ticket: Ticket) -> CreateDelegationTokenResponse:
    """Reject the request: tokens are disabled, unless one of Kafka's earlier checks fails."""
    requester, access = ticket.principal, node.cluster.access
    owner = requester
    if request.owner_principal_name:
        owner = Principal(request.owner_principal_type or "", request.owner_principal_name)
    error, time = refusal(ticket)
    if error is DISABLED:
        if access is not None and owner != requester and not access.allows(ticket, CREATE_TOKENS_USER, str(owner)):
            error, time = ErrorCode.delegation_token_authorization_failed, NEVER_ASKED
        elif any(renewer.principal_type != USER for renewer in request.renewers):
            error, time = ErrorCode.invalid_principal_type, NEVER_ASKED
    return CreateDelegationTokenResponse(
        error_code=error,
        principal_type=owner.type,
        principal_name=owner.name,
        token_requester_principal_type=requester.type,
        token_requester_principal_name=requester.name,
        issue_timestamp_ms=time,
        expiry_timestamp_ms=time,
        max_timestamp_ms=time,
    )
