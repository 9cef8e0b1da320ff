"""Shared parts of the four delegation token APIs (KIP-48): who may use them, and the error for disabled tokens.

Kafka has tokens if `delegation.token.secret.key` is set; kohort never has them. The responses are those of a broker
without that setting. Source: Kafka's `KafkaApis` and `DelegationTokenControlManager`; observed on 4.3.0.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kohort.protocol.errors import ErrorCode
from kohort.security.principal import ANONYMOUS

if TYPE_CHECKING:
    from kohort.broker.ticket import Ticket

DISABLED = ErrorCode.delegation_token_auth_disabled
NOT_ALLOWED = ErrorCode.delegation_token_request_not_allowed

NEVER_ASKED = -1  # timestamps of a token that the broker rejects; if its controller does, they are 0


def refusal(ticket: Ticket) -> tuple[ErrorCode, int]:
    """Return the error for a token request and the timestamps of the token. Clients without a login are not allowed."""
    if ticket.requester.login is None and ticket.principal == ANONYMOUS:
        return NOT_ALLOWED, NEVER_ASKED
    return DISABLED, 0
