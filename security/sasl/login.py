"""One connection's way from its first request to a known user, and back to the door when a session is over.

What may be said when is a table (`ORDER`). Nothing here waits: the broker delays what `FailedLogin` says.
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

LEAST_RENEWAL_INTERVAL_MS = 1_000
"""A renewal that follows another one sooner is none (Kafka: MIN_REAUTH_INTERVAL_ONE_SECOND_NANOS)."""


class State(Enum):
    """How far a login has come."""

    NEW = "nothing said yet"
    VERSIONS_ASKED = "the versions have been asked for"
    HANDSHAKEN = "a mechanism is chosen, its messages come in SaslAuthenticate"
    HANDSHAKEN_BARE = "a mechanism is chosen, its messages come without a header"
    OTHER_MECHANISM = "a renewal has chosen another mechanism, which is said at the next message"
    COMPLETE = "the user is known"
    FAILED = "it has failed"


class Verdict(Enum):
    """What becomes of a request."""

    ADMIT = "it is handled"
    BARE = "it is a bare message of the mechanism"
    CLOSE = "the connection is closed at once, without an answer"
    CLOSE_LATE = "the connection is closed after the delay, without an answer"
    REFUSE = "its own answer says ILLEGAL_SASL_STATE, after the delay, and the connection is closed"


_BEFORE = {API_VERSIONS: Verdict.ADMIT, SASL_HANDSHAKE: Verdict.ADMIT}

ORDER: dict[State, tuple[Mapping[int, Verdict], Verdict]] = {
    State.NEW: (_BEFORE, Verdict.CLOSE),
    State.VERSIONS_ASKED: ({SASL_HANDSHAKE: Verdict.ADMIT}, Verdict.CLOSE),
    State.HANDSHAKEN: ({SASL_AUTHENTICATE: Verdict.ADMIT}, Verdict.REFUSE),
    State.HANDSHAKEN_BARE: ({}, Verdict.BARE),
    State.OTHER_MECHANISM: ({}, Verdict.CLOSE_LATE),
    State.COMPLETE: ({}, Verdict.ADMIT),
    State.FAILED: ({}, Verdict.CLOSE),
}
"""What becomes of the APIs named, and of all others."""


@dataclass(frozen=True, slots=True)
class Progress:
    """What a broker answers to one message of a mechanism."""

    challenge: bytes = b""
    session_lifetime_ms: int = 0
    """How long a login counts that is complete; 0: until the connection ends."""


class FailedLogin(Exception):
    """The login has failed; the text is what the client reads. `reason` is for the log, and holds no secret."""

    def __init__(self, text: str, reason: str, *, at_once: bool = False) -> None:
        super().__init__(text)
        self.reason = reason
        self.at_once = at_once
        """Whether a client that speaks without headers is hung up on without the delay."""


class Login:
    """One connection's."""

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
        """`mechanisms`: what the listener offers. `most_ms`: `connections.max.reauth.ms` of each; 0: no limit."""
        self._mechanisms = mechanisms
        self._most_ms = most_ms
        self.state = State.NEW
        self.principal = ANONYMOUS
        """Known when the login is complete; a renewal does not change it."""
        self._mechanism = ""
        self._conversation: Conversation | None = None
        self._expires_at_ms: int | None = None
        """Monotonic; None: the session has no end."""
        self._renewing = False
        self._renewing_since_ms: int | None = None

    @property
    def mechanisms(self) -> tuple[str, ...]:
        """What the listener offers."""
        return tuple(self._mechanisms)

    @property
    def is_complete(self) -> bool:
        """Whether the user is known."""
        return self.state is State.COMPLETE

    @property
    def renewing(self) -> bool:
        """Whether what is said now, or was said last, renews a session."""
        return self._renewing

    @property
    def has_session(self) -> bool:
        """Whether each request must be looked at, because the session ends."""
        return self._expires_at_ms is not None

    def admits(self, key: int, now_ms: int) -> Verdict:
        """What becomes of a request of the API `key`. A SaslHandshake may begin to renew the session."""
        if self.state is State.COMPLETE and self._expires_at_ms is not None:
            if key == SASL_HANDSHAKE and self._begins_renewal(now_ms):
                return Verdict.ADMIT
            return Verdict.CLOSE if now_ms >= self._expires_at_ms else Verdict.ADMIT
        named, others = ORDER[self.state]
        return named.get(key, others)

    def versions_asked(self) -> None:
        """ApiVersions was answered: that may be asked once."""
        if self.state is State.NEW:
            self.state = State.VERSIONS_ASKED

    def handshake(self, mechanism: str, version: int) -> ErrorCode:
        """The client chooses a mechanism. Any error but ILLEGAL_SASL_STATE of a complete login ends the connection."""
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
        """The client's next message. Raises FailedLogin, after which the connection must end.

        `wall_ms`: the same moment in milliseconds since 1970, for tokens.
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
            when = "re-authentication" if self._renewing else "authentication"
            text = (
                f"Authentication failed during {when} due to invalid credentials with SASL mechanism {self._mechanism}"
            )
            raise FailedLogin(text, f"{text}: {problem}", at_once=True) from None
        return Progress(step.challenge, self._complete(step.identity, now_ms, wall_ms))

    def fail(self) -> None:
        """Nothing that is said on the connection counts any more."""
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
            before, after = (f"{each.type}.{each.name}" for each in (self.principal, principal))
            raise LoginRefused(f"Cannot change principals during re-authentication from {before}: {after}")
        self.principal = principal

    def _complete(self, identity: Identity, now_ms: int, wall_ms: int) -> int:
        """Begins the session. Returns how long it lasts; 0: for ever, or it is over already."""
        limits = [] if identity.expires_at_ms is None else [identity.expires_at_ms - wall_ms]
        most_ms = self._most_ms.get(self._mechanism, 0)
        if most_ms > 0:
            limits.append(most_ms)
        lifetime_ms = max(min(limits), 0) if limits else 0
        self._expires_at_ms = now_ms + lifetime_ms if limits else None
        self._conversation = None
        self.state = State.COMPLETE
        return lifetime_ms
