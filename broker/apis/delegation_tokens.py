"""What the four APIs of delegation tokens have in common (KIP-48): who may ask, and that there are no tokens.

Kafka keeps tokens if `delegation.token.secret.key` is set; kohort never does. The answers are those of a broker without
that setting. Source: Kafka's `KafkaApis` and `DelegationTokenControlManager`, and what 4.3.0 answers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kohort.protocol.errors import ErrorCode
from kohort.security.principal import ANONYMOUS

if TYPE_CHECKING:
    from kohort.broker.ticket import Ticket

DISABLED = ErrorCode.delegation_token_auth_disabled
NOT_ALLOWED = ErrorCode.delegation_token_request_not_allowed

NEVER_ASKED = -1
"""The times of a token that was refused before the controller was asked; afterwards they are 0."""


def refusal(ticket: Ticket) -> tuple[ErrorCode, int]:
    """Why there is no token, and its times: nobody may ask who has not said who they are."""
    if ticket.requester.login is None and ticket.principal == ANONYMOUS:
        return NOT_ALLOWED, NEVER_ASKED
    return DISABLED, 0
