"""OAUTHBEARER: a token names its bearer and expiry (RFC 7628).

Source: Kafka's `OAuthBearerSaslServer` and `OAuthBearerClientInitialResponse`; logins.md §4.3.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import NamedTuple, Protocol

from kohort.security.sasl.mechanism import BadCredentials, Identity, LoginRefused, Step

UNDERSTOOD = b"\x01"  # A client acknowledges a rejection with this message; the rejection is then repeated as an error.

_NAME = r"(?:[\x01-\x2B\x2D-\x3C\x3E-\x7F]|=2C|=3D)+"
_PAIR = r"[A-Za-z]+=[\x21-\x7E \t\r\n]+\x01"
_MESSAGE = re.compile(rf"n,(?:a=(?P<authzid>{_NAME}))?,\x01(?P<pairs>(?:{_PAIR})*)\x01")
_BEARER = re.compile(r"(?i:bearer) +(?P<token>[-_.+/=a-zA-Z0-9]+)")


class TokenRefused(Exception):
    """A rejected token. `status` is for the client, the text is for the log."""

    def __init__(self, reason: str, status: str = "invalid_token") -> None:
        super().__init__(reason)
        self.status = status


class Token(NamedTuple):
    """Content of an accepted token."""

    name: str
    expires_at_ms: int  # wall-clock milliseconds


def claimed_name(claims: Mapping[str, object], claim: str) -> str:
    r"""Return the name in a claim.

    Raises:
        TokenRefused: The claim is missing or cannot be encoded as UTF-8: JSON can contain half of a surrogate pair
            (`"\ud800"`), which no ACL, log line or event could represent.
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
    """Validates tokens of one format."""

    def token(self, text: str, wall_ms: int) -> Token:
        """Validate a token.

        Raises:
            TokenRefused: The token is rejected.
        """
        ...


class OAuthBearer:
    """The mechanism with a token validator."""

    name = "OAUTHBEARER"

    def __init__(self, validator: TokenValidator) -> None:
        self.validator = validator

    def begin(self) -> OAuthBearerLogin:
        return OAuthBearerLogin(self.validator)


class OAuthBearerLogin:
    """One authentication: one or more tokens, of which each rejected one is answered twice."""

    def __init__(self, validator: TokenValidator) -> None:
        self._validator = validator
        self._refusal = ""

    def step(self, message: bytes, wall_ms: int) -> Step:
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
    """Return the authorization id, which may be empty, and the token.

    Raises:
        BadCredentials: The message is malformed.
    """
    match = _MESSAGE.fullmatch(message.decode("utf-8", "replace"))
    if match is None:
        raise BadCredentials("the OAUTHBEARER message cannot be read")
    pairs = dict(pair.split("=", 1) for pair in match["pairs"].split("\x01") if pair)
    bearer = _BEARER.fullmatch(pairs.get("auth", ""))
    if bearer is None:
        raise BadCredentials("the OAUTHBEARER message brings no bearer token")
    return (match["authzid"] or "").replace("=2C", ",").replace("=3D", "="), bearer["token"]
