"""PLAIN: user and password in one message (RFC 4616). Users are those of the listener's JAAS line.

Source: Kafka's `PlainSaslServer` and `PlainServerCallbackHandler`; logins.md §4.1.
"""

from __future__ import annotations

from collections.abc import Mapping
from hmac import compare_digest

from kohort.security.sasl.mechanism import Identity, LoginRefused, Step

MOST_PARTS = 4  # Kafka's limit


class Plain:
    """The mechanism with its users and passwords."""

    name = "PLAIN"

    def __init__(self, users: Mapping[str, str]) -> None:
        self._users = {user: password.encode() for user, password in users.items()}

    def begin(self) -> Plain:
        """Return the mechanism itself, because a conversation has no state."""
        return self

    def step(self, message: bytes, wall_ms: int) -> Step:
        parts = message.decode("utf-8", "replace").split("\0", MOST_PARTS - 1)
        if len(parts) != 3:
            raise LoginRefused(f"Invalid SASL/PLAIN response: expected 3 tokens, got {len(parts)}")
        authorization_id, user, password = parts
        if not user:
            raise LoginRefused("Authentication failed: username not specified")
        if not password:
            raise LoginRefused("Authentication failed: password not specified")
        if not self._knows(user, password):
            raise LoginRefused("Authentication failed: Invalid username or password")
        if authorization_id not in ("", user):
            raise LoginRefused(
                "Authentication failed: Client requested an authorization id that is different from username"
            )
        return Step(b"", Identity(user))

    def _knows(self, user: str, password: str) -> bool:
        """Compare the password in constant time, for unknown users, too."""
        expected = self._users.get(user)
        password_bytes = password.encode()
        same = compare_digest(password_bytes, password_bytes if expected is None else expected)
        return same and expected is not None
