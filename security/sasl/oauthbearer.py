"""OAUTHBEARER: a token says who its bearer is, and until when (RFC 7628).

Source: Kafka's `OAuthBearerSaslServer` and `OAuthBearerClientInitialResponse`; logins.md §4.3.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import NamedTuple, Protocol

from kohort.security.sasl.mechanism import BadCredentials, Identity, LoginRefused, Step

UNDERSTOOD = b"\x01"
"""What a client says to a refusal it has read, so that the refusal can be told once more as an error."""

_NAME = r"(?:[\x01-\x2B\x2D-\x3C\x3E-\x7F]|=2C|=3D)+"
_PAIR = r"[A-Za-z]+=[\x21-\x7E \t\r\n]+\x01"
_MESSAGE = re.compile(rf"n,(?:a=(?P<authzid>{_NAME}))?,\x01(?P<pairs>(?:{_PAIR})*)\x01")
_BEARER = re.compile(r"(?i:bearer) +(?P<token>[-_.+/=a-zA-Z0-9]+)")


class TokenRefused(Exception):
    """A token that counts for nothing. `status` is what the client reads, the text is for the log."""

    def __init__(self, reason: str, status: str = "invalid_token") -> None:
        super().__init__(reason)
        self.status = status


class Token(NamedTuple):
    """What a token that counts says."""

    name: str
    expires_at_ms: int
    """Wall-clock milliseconds."""


def claimed_name(claims: Mapping[str, object], claim: str) -> str:
    """The name that a claim gives.

    Raises TokenRefused where it gives none, or one that UTF-8 can't write: JSON may hold half of a surrogate pair
    (`"\\ud800"`), which no ACL, log line or event could name.
    """
    name = claims.get(claim)
    if not isinstance(name, str) or not name.strip():
        raise TokenRefused(f"it has no claim {claim}")
    try:
        name.encode()
    except UnicodeEncodeError:
        raise TokenRefused(f"its claim {claim} can't be written as UTF-8") from None
    return name


class TokenValidator(Protocol):
    """Reads tokens of one kind."""

    def token(self, text: str, wall_ms: int) -> Token:
        """What the token says now. Raises TokenRefused."""
        ...


class OAuthBearer:
    """Knows which tokens count."""

    name = "OAUTHBEARER"

    def __init__(self, validator: TokenValidator) -> None:
        self.validator = validator

    def begin(self) -> OAuthBearerLogin:
        """See `Mechanism`."""
        return OAuthBearerLogin(self.validator)


class OAuthBearerLogin:
    """One login: a token, or several, of which each refused one is told twice."""

    def __init__(self, validator: TokenValidator) -> None:
        self._validator = validator
        self._refusal = ""

    def step(self, message: bytes, wall_ms: int) -> Step:
        """See `Conversation`."""
        refusal, self._refusal = self._refusal, ""
        if refusal and message == UNDERSTOOD:
            raise LoginRefused(refusal)
        authorization_id, bearer = read_message(message)
        try:
            token = self._validator.token(bearer, wall_ms)
        except TokenRefused as problem:
            self._refusal = json.dumps({"status": problem.status}, separators=(",", ":"))
            return Step(self._refusal.encode())
        if authorization_id not in ("", token.name):
            raise LoginRefused(
                f"Authentication failed: Client requested an authorization id ({authorization_id}) that is different "
                f"from the token's principal name ({token.name})"
            )
        return Step(b"", Identity(token.name, token.expires_at_ms))


def read_message(message: bytes) -> tuple[str, str]:
    """The authorization id, empty if there is none, and the token. Raises BadCredentials."""
    match = _MESSAGE.fullmatch(message.decode("utf-8", "replace"))
    if match is None:
        raise BadCredentials("the OAUTHBEARER message cannot be read")
    pairs = dict(pair.split("=", 1) for pair in match["pairs"].split("\x01") if pair)
    bearer = _BEARER.fullmatch(pairs.get("auth", ""))
    if bearer is None:
        raise BadCredentials("the OAUTHBEARER message brings no bearer token")
    return (match["authzid"] or "").replace("=2C", ",").replace("=3D", "="), bearer["token"]
