"""RenewDelegationToken (key 39), versions 1 and 2: always rejected, see delegation_tokens.py.

v1 (KIP-48) · v2 tagged fields.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kohort.broker.apis.delegation_tokens import refusal
from kohort.protocol.messages.renew_delegation_token import RenewDelegationTokenRequest, RenewDelegationTokenResponse

if TYPE_CHECKING:
    from kohort.broker.cluster.node import Node
    from kohort.broker.ticket import Ticket


def handle(node: Node, request: RenewDelegationTokenRequest, ticket: Ticket) -> RenewDelegationTokenResponse:
    error, time = refusal(ticket)
    return RenewDelegationTokenResponse(error_code=error, expiry_timestamp_ms=time)
