"""The interface of a SASL mechanism: it starts conversations, and a conversation processes one message at a time."""

from __future__ import annotations

from typing import NamedTuple, Protocol


class LoginRefused(Exception):
    """The authentication fails, and the client receives the text, which never contains a password or token."""


class BadCredentials(Exception):
    """The authentication fails without details for the client; the text is for the log.

    Kafka: a `SaslException` that is not a `SaslAuthenticationException`.
    """


class Identity(NamedTuple):
    """An authenticated user."""

    name: str
    expires_at_ms: int | None = None  # wall-clock expiry of the credentials in milliseconds, or None


class Step(NamedTuple):
    """Response of a broker to one message of a client."""

    challenge: bytes
    identity: Identity | None = None  # None if the client has to send another message


class Conversation(Protocol):
    """One authentication of one client."""

    def step(self, message: bytes, wall_ms: int) -> Step:
        """Process the client's next message.

        Raises:
            LoginRefused: The authentication failed, with a reason for the client.
            BadCredentials: The authentication failed.
        """
        ...


class Mechanism(Protocol):
    """A mechanism enabled on a listener."""

    @property
    def name(self) -> str:
        """Name in `sasl.enabled.mechanisms`."""
        ...

    def begin(self) -> Conversation:
        """Start an authentication."""
        ...
