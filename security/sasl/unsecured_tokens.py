"""Unsigned tokens, for development: a JWT whose header contains `{"alg":"none"}`.

Source: Kafka's `OAuthBearerUnsecuredValidatorCallbackHandler`, `OAuthBearerUnsecuredJws` and
`OAuthBearerValidationUtils`; logins.md §4.3.
"""

from __future__ import annotations

import json
from base64 import urlsafe_b64decode
from collections.abc import Mapping
from typing import Any

from kohort.security.sasl.oauthbearer import Token, TokenRefused, claimed_name


class UnsecuredTokens:
    """Accepts tokens without a signature."""

    def __init__(self, options: Mapping[str, str] | None = None) -> None:
        """Read the options of the JAAS line.

        Raises:
            ValueError: The clock skew is not a number.
        """
        options = options or {}
        self._name_claim = options.get("unsecuredValidatorPrincipalClaimName") or "sub"
        self._scope_claim = options.get("unsecuredValidatorScopeClaimName") or "scope"
        self._required_scope = frozenset(options.get("unsecuredValidatorRequiredScope", "").split())
        self._skew_ms = int(options.get("unsecuredValidatorAllowableClockSkewMs") or 0)
        if self._skew_ms < 0:
            raise ValueError("unsecuredValidatorAllowableClockSkewMs is negative")

    def token(self, text: str, wall_ms: int) -> Token:
        parts = text.split(".")
        if len(parts) != 3 or parts[2]:
            raise TokenRefused("not an unsecured token: expected two parts, two dots and nothing after them")
        header, claims = json_object(parts[0]), json_object(parts[1])
        if header.get("alg") != "none":
            raise TokenRefused("its header does not have the algorithm none")
        name = claimed_name(claims, self._name_claim)
        expires_at_ms, issued_at_ms = _moment(claims, "exp"), _moment(claims, "iat")
        if expires_at_ms is None:
            raise TokenRefused("it has no claim exp")
        if issued_at_ms is not None and (issued_at_ms > wall_ms + self._skew_ms or expires_at_ms <= issued_at_ms):
            raise TokenRefused("it is issued in the future, or runs out before it is issued")
        if wall_ms - self._skew_ms >= expires_at_ms:
            raise TokenRefused("it has run out")
        if not self._required_scope <= _words(claims.get(self._scope_claim)):
            raise TokenRefused("it lacks a scope", "insufficient_scope")
        return Token(name, expires_at_ms)


def json_object(part: str) -> Mapping[str, Any]:
    """Parse a part of a token: the header or the claims.

    Raises:
        TokenRefused: It is not a JSON object.
    """
    try:
        value = json.loads(urlsafe_b64decode(part + "=" * (-len(part) % 4)))
    except (ValueError, RecursionError):
        raise TokenRefused("a part of it is not JSON in base64") from None
    if not isinstance(value, dict):
        raise TokenRefused("a part of it is not a JSON object")
    return value


def _moment(claims: Mapping[str, Any], name: str) -> int | None:
    """Return a claim in seconds as milliseconds, or None if it is missing."""
    value = claims.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) < 2**53:
        raise TokenRefused(f"its claim {name} is not a number of seconds")
    return round(value * 1_000)


def _words(scope: object) -> frozenset[str]:
    if isinstance(scope, str):
        return frozenset(scope.split())
    return frozenset(word for word in scope if isinstance(word, str)) if isinstance(scope, list) else frozenset()
