"""Signed tokens: JWTs, validated against the keys of a JWKS document. Needs PyJWT and cryptography.

Source: Kafka's `OAuthBearerValidatorCallbackHandler` and `BrokerJwtValidator` (KIP-768); logins.md §4.3.
"""

from __future__ import annotations

from dataclasses import dataclass

import jwt

from kohort.security.sasl.oauthbearer import Token, TokenRefused, claimed_name

# Signatures with a public key. Never `none`, and no shared secrets.
ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA")


class KeysError(ValueError):
    """A JWKS document without usable keys. The text completes a sentence that starts with the name of the setting."""


@dataclass(frozen=True, slots=True)
class TokenRules:
    """Requirements for a token in addition to its signature."""

    audiences: tuple[str, ...] = ()  # accepted audiences; empty accepts any
    issuer: str = ""  # empty accepts any
    name_claim: str = "sub"
    skew_seconds: int = 30  # maximum clock difference between issuer and broker


class SignedTokens:
    """Validator with the keys of a JWKS document."""

    def __init__(self, keys: str, rules: TokenRules) -> None:
        """Parse a JWKS document.

        Raises:
            KeysError: It has no usable key.
        """
        try:
            jwks = jwt.PyJWKSet.from_json(keys).keys
        except (jwt.PyJWTError, ValueError, TypeError, AttributeError, KeyError):
            raise KeysError("is not a JWKS document with a usable key") from None
        self._keys = [key for key in jwks if key.algorithm_name in ALGORITHMS]
        if not self._keys:
            raise KeysError(f"has no key for one of {', '.join(ALGORITHMS)}")
        self._rules = rules

    def token(self, text: str, wall_ms: int) -> Token:
        try:
            header = jwt.get_unverified_header(text)
            claims = self._claims(text, self._key(header), header["alg"])
        except (jwt.PyJWTError, KeyError, ValueError, TypeError, RecursionError) as problem:
            raise TokenRefused(f"it is not signed by a known key, or not for this broker: {problem}") from None
        expires_at_ms = self._checked_end(claims, wall_ms)
        return Token(claimed_name(claims, self._rules.name_claim).strip(), expires_at_ms)

    def _key(self, header: dict[str, object]) -> jwt.PyJWK:
        key_id, algorithm = header.get("kid"), header.get("alg")
        for key in self._keys:
            if (key_id is None or key.key_id == key_id) and _same_family(key.algorithm_name, algorithm):
                return key
        raise TokenRefused("no key is known that could have signed it")

    def _claims(self, text: str, key: jwt.PyJWK, algorithm: str) -> dict[str, object]:
        rules = self._rules
        claims: dict[str, object] = jwt.decode(
            text,
            key=key.key,
            algorithms=[algorithm] if algorithm in ALGORITHMS else [],
            audience=rules.audiences or None,
            issuer=rules.issuer or None,
            options={
                "require": ["exp", "iat"],
                "verify_aud": bool(rules.audiences),
                # By the clock of the broker, which is not always the machine's; see `_checked_end`.
                "verify_exp": False,
                "verify_iat": False,
                "verify_nbf": False,
                "verify_sub": False,
            },
        )
        return claims

    def _checked_end(self, claims: dict[str, object], wall_ms: int) -> int:
        """Return the token's expiry after checking that it is valid now."""
        skew_ms = self._rules.skew_seconds * 1_000
        moments = {}
        for name in ("exp", "iat", "nbf"):
            value = claims.get(name, 0)
            if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) < 2**53:
                raise TokenRefused(f"its claim {name} is not a number of seconds")
            moments[name] = value * 1_000
        if wall_ms - skew_ms >= moments["exp"]:
            raise TokenRefused("it has run out")
        if max(moments["iat"], moments["nbf"]) > wall_ms + skew_ms:
            raise TokenRefused("it counts from later on")
        return round(moments["exp"])


def _same_family(key: str | None, algorithm: object) -> bool:
    """Return whether a key fits an algorithm.

    A key for RS256 also signs RS512 and PS256; the signature is verified later.
    """
    families = {"RS": "RSA", "PS": "RSA", "ES": "EC", "Ed": "Ed"}
    if not isinstance(algorithm, str) or algorithm not in ALGORITHMS or key is None:
        return False
    return families.get(key[:2]) == families.get(algorithm[:2])
