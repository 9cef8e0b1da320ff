"""ExpireDelegationToken (key 40), versions 1 and 2: always rejected, see delegation_tokens.py.

v1 (KIP-48) · v2 tagged fields.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kohort.broker.apis.delegation_tokens import refusal
from kohort.protocol.messages.expire_delegation_token import ExpireDelegationTokenRequest, ExpireDelegationTokenResponse

if TYPE_CHECKING:
    from kohort.broker.cluster.node import Node
    from kohort.broker.ticket import Ticket


def handle(node: Node, request: ExpireDelegationTokenRequest, ticket: Ticket) -> ExpireDelegationTokenResponse:
    error, time = refusal(ticket)
    return ExpireDelegationTokenResponse(error_code=error, expiry_timestamp_ms=time)
