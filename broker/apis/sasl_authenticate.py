"""SaslAuthenticate (key 36), versions 0 to 2: one message of a login.

v0 (KIP-152) · v1 the lifetime of the session (KIP-368) · v2 flexible.
Source: Kafka's `SaslServerAuthenticator.handleSaslToken`, `KafkaApis.handleSaslAuthenticateRequest`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kohort.broker.apis.failed_login import fail_late
from kohort.protocol.errors import ErrorCode
from kohort.protocol.messages.sasl_authenticate import SaslAuthenticateRequest, SaslAuthenticateResponse
from kohort.security.sasl.login import FailedLogin, State

if TYPE_CHECKING:
    from kohort.broker.cluster.node import Node
    from kohort.broker.ticket import Ticket


def handle(node: Node, request: SaslAuthenticateRequest, ticket: Ticket) -> SaslAuthenticateResponse | None:
    """Return the mechanism's next message to the client, or the error if the login has failed."""
    login = ticket.requester.login
    if login is None or login.state is not State.HANDSHAKEN:
        return SaslAuthenticateResponse(
            error_code=ErrorCode.illegal_sasl_state,
            error_message="SaslAuthenticate request received after successful authentication",
        )
    now_ms = ticket.received_at_ms
    try:
        progress = login.authenticate(request.auth_bytes, now_ms, now_ms + node.cluster.clock.epoch_ms)
    except FailedLogin as failure:
        refusal = SaslAuthenticateResponse(error_code=ErrorCode.sasl_authentication_failed, error_message=str(failure))
        fail_late(node.cluster, ticket, refusal, failure.reason)
        return None
    if login.is_complete:
        node.cluster.logins.succeeded(ticket.requester, renewed=login.renewing)
    return SaslAuthenticateResponse(
        error_code=ErrorCode.none,
        error_message="",
        auth_bytes=progress.challenge,
        session_lifetime_ms=progress.session_lifetime_ms,
    )
