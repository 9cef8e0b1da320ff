"""As whom a client has logged in, read from its login on the way to the cluster, which decides whether it counts.

What is read is what Kafka makes principals of unless it is told otherwise (`principal.builder.class`): the user of
PLAIN and SCRAM, the claim `sub` of a token. Of other mechanisms nothing is known.
"""

from __future__ import annotations

from typing import Final

from kohort.client.security import Security
from kohort.protocol.wire import INT, read_unsigned_varint
from kohort.security.principal import ANONYMOUS, USER, Principal
from kohort.security.sasl.mechanism import BadCredentials
from kohort.security.sasl.oauthbearer import TokenRefused, claimed_name, read_message
from kohort.security.sasl.scram import name_in
from kohort.security.sasl.unsecured_tokens import json_object

UNSEEN: Final = Principal("", "")
"""Who has logged in by a mechanism that nobody here can read."""

FIRST_FLEXIBLE: Final = 2
"""Version of SaslAuthenticate."""


class LoginSeen:
    """One client's logins, of which the last that the cluster has taken counts."""

    def __init__(self, principal: Principal = ANONYMOUS) -> None:
        """`principal`: who it is before it logs in itself."""
        self.principal = principal
        self._mechanism = ""
        self._claimed: Principal | None = None
        """Whom the messages have named whose answers are still to come."""

    def begins(self, mechanism: str) -> None:
        """The client has asked for a mechanism."""
        self._mechanism = mechanism
        self._claimed = None

    def says(self, message: bytes) -> None:
        """The client has sent a message of the mechanism. The name is in the first."""
        if self._claimed is None or self._claimed == UNSEEN:
            name = _name(self._mechanism, message)
            self._claimed = Principal(USER, name) if name else UNSEEN

    def hears(self, accepted: bool) -> None:
        """The cluster has answered such a message."""
        if not accepted:
            self._claimed = None
        elif self._claimed is not None:
            self.principal = self._claimed


def message_in(body: bytes, version: int) -> bytes:
    """The mechanism's own message in the body of SaslAuthenticate. Raises IndexError, struct.error for none."""
    if version >= FIRST_FLEXIBLE:
        size, at = read_unsigned_varint(body, 0)
        size -= 1
    else:
        (size,), at = INT.unpack_from(body), INT.size
    return body[at : at + max(size, 0)]


def _name(mechanism: str, message: bytes) -> str:
    if mechanism == "PLAIN":
        parts = message.decode("utf-8", "replace").split("\0")
        return parts[1] if len(parts) == 3 else ""
    if mechanism.startswith("SCRAM-"):
        return name_in(message)
    return _subject(message) if mechanism == "OAUTHBEARER" else ""


def _subject(message: bytes) -> str:
    try:
        _, token = read_message(message)
        parts = token.split(".")
        return claimed_name(json_object(parts[1]), "sub") if len(parts) == 3 else ""
    except (BadCredentials, TokenRefused):
        return ""


def before_login(security: Security) -> Principal | None:
    """Who a client is whose connection the proxy opens so; None: only the cluster knows.

    That is so of a certificate, which the cluster may map to any name, and of a token that is read from a file.
    """
    if security.sasl:
        return Principal(USER, security.username) if security.username and not security.token_file else None
    return None if security.tls and security.certificate else ANONYMOUS
