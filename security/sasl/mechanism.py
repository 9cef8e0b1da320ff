"""What a SASL mechanism is to a login: it begins conversations, and a conversation takes one message at a time."""

from __future__ import annotations

from typing import NamedTuple, Protocol


class LoginRefused(Exception):
    """The login fails, and the client reads why. The text never holds a password or a token."""


class BadCredentials(Exception):
    """The login fails, and the client reads no more than that; the text is for the log.

    Kafka: a `SaslException` that is no `SaslAuthenticationException`.
    """


class Identity(NamedTuple):
    """Who has logged in."""

    name: str
    expires_at_ms: int | None = None
    """Wall-clock milliseconds at which what was shown runs out; None: it does not."""


class Step(NamedTuple):
    """What a broker says to one message of a client."""

    challenge: bytes
    identity: Identity | None = None
    """None: the client has more to say."""


class Conversation(Protocol):
    """One login of one client."""

    def step(self, message: bytes, wall_ms: int) -> Step:
        """Takes the client's next message. Raises LoginRefused, BadCredentials."""
        ...


class Mechanism(Protocol):
    """A way to log in, as one listener offers it."""

    @property
    def name(self) -> str:
        """As in `sasl.enabled.mechanisms`."""
        ...

    def begin(self) -> Conversation:
        """A client has chosen it."""
        ...
