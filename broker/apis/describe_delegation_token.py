"""DescribeDelegationToken (key 41), versions 1 to 3: always rejected, see delegation_tokens.py.

v1 (KIP-48) · v2 tagged fields · v3 who requested a token (KIP-373).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kohort.broker.apis.delegation_tokens import refusal
from kohort.protocol.messages.describe_delegation_token import (
    DescribeDelegationTokenRequest,
    DescribeDelegationTokenResponse,
)

if TYPE_CHECKING:
    from kohort.broker.cluster.node import Node
    from kohort.broker.ticket import Ticket


def handle(node: Node, request: DescribeDelegationTokenRequest, ticket: Ticket) -> DescribeDelegationTokenResponse:
    error, _ = refusal(ticket)
    return DescribeDelegationTokenResponse(error_code=error)
