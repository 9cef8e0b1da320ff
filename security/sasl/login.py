"""Authentication state of one connection, from its first request to a known user, and through re-authentication.

The valid requests in each state are a table (`ORDER`). Nothing waits here: the broker delays what `FailedLogin`
reports.
Source: Kafka's `SaslServerAuthenticator` and `KafkaChannel.maybeBeginServerReauthentication`; logins.md §3, §5.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from kohort.protocol.errors import ErrorCode
from kohort.security.principal import ANONYMOUS, USER, Principal
from kohort.security.sasl.mechanism import BadCredentials, LoginRefused

if TYPE_CHECKING:
    from kohort.security.sasl.mechanism import Conversation, Identity, Mechanism

API_VERSIONS, SASL_HANDSHAKE, SASL_AUTHENTICATE = 18, 17, 36

# An earlier re-authentication is rejected (Kafka: MIN_REAUTH_INTERVAL_ONE_SECOND_NANOS).
LEAST_RENEWAL_INTERVAL_MS = 1_000


class State(Enum):
    """Progress of an authentication."""

    NEW = "nothing said yet"
    VERSIONS_ASKED = "the versions have been asked for"
    HANDSHAKEN = "a mechanism is chosen, its messages come in SaslAuthenticate"
    HANDSHAKEN_BARE = "a mechanism is chosen, its messages come without a header"
    OTHER_MECHANISM = "a renewal has chosen another mechanism, which is said at the next message"
    COMPLETE = "the user is known"
    FAILED = "it has failed"


class Verdict(Enum):
    """Handling of a request."""

    ADMIT = "it is handled"
    BARE = "it is a bare message of the mechanism"
    CLOSE = "the connection is closed at once, without an answer"
    CLOSE_LATE = "the connection is closed after the delay, without an answer"
    REFUSE = "its own response has ILLEGAL_SASL_STATE, after the delay, and the connection is closed"


_ADMITTED_FIRST = {API_VERSIONS: Verdict.ADMIT, SASL_HANDSHAKE: Verdict.ADMIT}

ORDER: dict[State, tuple[Mapping[int, Verdict], Verdict]] = {
    State.NEW: (_ADMITTED_FIRST, Verdict.CLOSE),
    State.VERSIONS_ASKED: ({SASL_HANDSHAKE: Verdict.ADMIT}, Verdict.CLOSE),
    State.HANDSHAKEN: ({SASL_AUTHENTICATE: Verdict.ADMIT}, Verdict.REFUSE),
    State.HANDSHAKEN_BARE: ({}, Verdict.BARE),
    State.OTHER_MECHANISM: ({}, Verdict.CLOSE_LATE),
    State.COMPLETE: ({}, Verdict.ADMIT),
    State.FAILED: ({}, Verdict.CLOSE),
}  # handling of the listed APIs, and of all others


@dataclass(frozen=True, slots=True)
class Progress:
    """Response of a broker to one message of a mechanism."""

    challenge: bytes = b""
    session_lifetime_ms: int = 0  # lifetime of a complete session; 0 means until the connection closes


class FailedLogin(Exception):
    """A failed authentication. The text is sent to the client; `reason` is for the log and contains no secret."""

    def __init__(self, text: str, reason: str, *, at_once: bool = False) -> None:
        super().__init__(text)
        self.reason = reason
        self.at_once = at_once  # whether to disconnect a client that does not use headers without the delay


class Login:
    """Authentication state of one connection."""

    __slots__ = (
        "_conversation",
        "_expires_at_ms",
        "_mechanism",
        "_mechanisms",
        "_most_ms",
        "_renewing",
        "_renewing_since_ms",
        "principal",
        "state",
    )

    def __init__(self, mechanisms: Mapping[str, Mechanism], most_ms: Mapping[str, int]) -> None:
        """Start in the initial state.

        Args:
            mechanisms: Enabled mechanisms of the listener.
            most_ms: `connections.max.reauth.ms` by mechanism; 0 means no limit.
        """
        self._mechanisms = mechanisms
        self._most_ms = most_ms
        self.state = State.NEW
        self.principal = ANONYMOUS  # set when the authentication is complete; re-authentication does not change it
        self._mechanism = ""
        self._conversation: Conversation | None = None
        self._expires_at_ms: int | None = None  # monotonic; None means never
        self._renewing = False
        self._renewing_since_ms: int | None = None

    @property
    def mechanisms(self) -> tuple[str, ...]:
        """Enabled mechanisms of the listener."""
        return tuple(self._mechanisms)

    @property
    def is_complete(self) -> bool:
        """Whether the user is authenticated."""
        return self.state is State.COMPLETE

    @property
    def renewing(self) -> bool:
        """Whether the current or last exchange re-authenticates a session."""
        return self._renewing

    @property
    def has_session(self) -> bool:
        """Whether each request must be checked, because the session expires."""
        return self._expires_at_ms is not None

    def admits(self, key: int, now_ms: int) -> Verdict:
        """Return how to handle a request of the API `key`. A SaslHandshake can start a re-authentication."""
        if self.state is State.COMPLETE and self._expires_at_ms is not None:
            if key == SASL_HANDSHAKE and self._begins_renewal(now_ms):
                return Verdict.ADMIT
            return Verdict.CLOSE if now_ms >= self._expires_at_ms else Verdict.ADMIT
        named, default = ORDER[self.state]
        return named.get(key, default)

    def versions_asked(self) -> None:
        """Record that ApiVersions was answered, which is allowed once."""
        if self.state is State.NEW:
            self.state = State.VERSIONS_ASKED

    def handshake(self, mechanism: str, version: int) -> ErrorCode:
        """Select a mechanism. Any error except ILLEGAL_SASL_STATE after authentication closes the connection."""
        if self.state not in (State.NEW, State.VERSIONS_ASKED):
            return ErrorCode.illegal_sasl_state
        chosen = self._mechanisms.get(mechanism)
        if chosen is None:
            self.state = State.FAILED
            return ErrorCode.unsupported_sasl_mechanism
        if self._renewing and mechanism != self._mechanism:
            self.state = State.OTHER_MECHANISM
            return ErrorCode.none
        self._mechanism, self._conversation = mechanism, chosen.begin()
        self.state = State.HANDSHAKEN if version else State.HANDSHAKEN_BARE
        return ErrorCode.none

    def authenticate(self, message: bytes, now_ms: int, wall_ms: int) -> Progress:
        """Process the client's next message.

        Args:
            wall_ms: The same time in milliseconds since 1970, for tokens.

        Raises:
            FailedLogin: The authentication failed, and the connection must be closed.
        """
        assert self._conversation is not None, "a mechanism was chosen"
        try:
            step = self._conversation.step(message, wall_ms)
            if step.identity is None:
                return Progress(step.challenge)
            self._becomes(Principal(USER, step.identity.name))
        except LoginRefused as refusal:
            self.fail()
            raise FailedLogin(str(refusal), str(refusal)) from None
        except BadCredentials as problem:
            self.fail()
            phase = "re-authentication" if self._renewing else "authentication"
            text = (
                f"Authentication failed during {phase} due to invalid credentials with SASL mechanism {self._mechanism}"
            )
            raise FailedLogin(text, f"{text}: {problem}", at_once=True) from None
        return Progress(step.challenge, self._complete(step.identity, now_ms, wall_ms))

    def fail(self) -> None:
        """Reject all further requests of the connection."""
        self.state, self._conversation = State.FAILED, None

    def _begins_renewal(self, now_ms: int) -> bool:
        since_ms = self._renewing_since_ms
        if since_ms is not None and now_ms - since_ms < LEAST_RENEWAL_INTERVAL_MS:
            return False
        self._renewing, self._renewing_since_ms = True, now_ms
        self.state = State.VERSIONS_ASKED
        return True

    def _becomes(self, principal: Principal) -> None:
        if self._renewing and principal != self.principal:
            previous, after = (
                f"{some_principal.type}.{some_principal.name}" for some_principal in (self.principal, principal)
            )
            raise LoginRefused(f"Cannot change principals during re-authentication from {previous}: {after}")
        self.principal = principal

    def _complete(self, identity: Identity, now_ms: int, wall_ms: int) -> int:
        """Start the session and return its lifetime; 0 means unlimited or already expired."""
        limits = [] if identity.expires_at_ms is None else [identity.expires_at_ms - wall_ms]
        most_ms = self._most_ms.get(self._mechanism, 0)
        if most_ms > 0:
            limits.append(most_ms)
        lifetime_ms = max(min(limits), 0) if limits else 0
        self._expires_at_ms = now_ms + lifetime_ms if limits else None
        self._conversation = None
        self.state = State.COMPLETE
        return lifetime_ms
