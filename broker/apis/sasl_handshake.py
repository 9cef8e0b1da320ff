"""SaslHandshake (key 17), versions 0 and 1: the client selects a mechanism.

v0 the mechanism's messages follow without headers (KIP-43) · v1 they follow in SaslAuthenticate (KIP-152).

On listeners without logins, and after a login whose session does not expire, it is rejected, and the connection stays.
Source: Kafka's `SaslServerAuthenticator.handleHandshakeRequest` and `KafkaApis.handleSaslHandshakeRequest`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kohort.broker.apis.failed_login import fail_late
from kohort.protocol.errors import ErrorCode
from kohort.protocol.messages.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse

if TYPE_CHECKING:
    from kohort.broker.cluster.node import Node
    from kohort.broker.ticket import Ticket


def handle(node: Node, request: SaslHandshakeRequest, ticket: Ticket) -> SaslHandshakeResponse | None:
    login = ticket.requester.login
    if login is None:
        return SaslHandshakeResponse(error_code=ErrorCode.illegal_sasl_state)
    error = login.handshake(request.mechanism, ticket.version)
    if error is ErrorCode.illegal_sasl_state:
        return SaslHandshakeResponse(error_code=error)
    response = SaslHandshakeResponse(error_code=error, mechanisms=login.mechanisms)
    if error is ErrorCode.none:
        return response
    offered = ", ".join(login.mechanisms)
    fail_late(
        node.cluster, ticket, response, f"mechanism {request.mechanism!r:.100} is not enabled; there are {offered}"
    )
    return None
