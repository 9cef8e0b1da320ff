"""Principal of a client, read from its login on the way to the cluster, which decides whether the login succeeds.

Kafka's default principals are recognized (`principal.builder.class` may change them): the user name of PLAIN and SCRAM,
and the claim `sub` of a token. Other mechanisms are not.
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
"""Principal of a client that used a mechanism that can't be read."""

FIRST_FLEXIBLE: Final = 2  # version of SaslAuthenticate


class LoginSeen:
    """Logins of one client; the last successful one counts."""

    def __init__(self, principal: Principal = ANONYMOUS) -> None:
        """Set `principal` as the identity before the client's own login."""
        self.principal = principal
        self._mechanism = ""
        self._claimed: Principal | None = None  # principal of a login without a response yet

    def on_handshake(self, mechanism: str) -> None:
        self._mechanism = mechanism
        self._claimed = None

    def on_message(self, message: bytes) -> None:
        """Read the principal from the first message of a mechanism."""
        if self._claimed is None or self._claimed == UNSEEN:
            name = _name(self._mechanism, message)
            self._claimed = Principal(USER, name) if name else UNSEEN

    def on_result(self, accepted: bool) -> None:
        """Apply the result of a login message."""
        if not accepted:
            self._claimed = None
        elif self._claimed is not None:
            self.principal = self._claimed


def message_in(body: bytes, version: int) -> bytes:
    """Return the mechanism's message in the body of SaslAuthenticate.

    Raise IndexError or struct.error if it is malformed.
    """
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
    """Return the principal of a client before its own login, or None if only the cluster knows it.

    It is unknown with a certificate, which the cluster may map to any name, and with a token that is read from a file.
    """
    if security.sasl:
        return Principal(USER, security.username) if security.username and not security.token_file else None
    return None if security.tls and security.certificate else ANONYMOUS
