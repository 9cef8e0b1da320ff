"""Unsigned tokens for clients of a secured cluster: OAUTHBEARER without an authority.

Source: RFC 7515 (`alg: none`), KIP-255.
"""

from __future__ import annotations

import json
from base64 import urlsafe_b64encode

from kohort.base.clock import machines

LIFE_S = 3_600  # lifetime of a token by the broker's clock, which a test moves


def unsecured_token(user: str) -> str:
    """Return a token that was issued now."""
    now_s = machines("time_ns")() // 1_000_000_000
    parts = ({"alg": "none"}, {"sub": user, "iat": now_s, "exp": now_s + LIFE_S})
    return "".join(urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=") + "." for part in parts)


def aiokafka_tokens(user: str) -> object:
    """Return a token provider for aiokafka."""
    from aiokafka.abc import AbstractTokenProvider

    class Tokens(AbstractTokenProvider):  # type: ignore[misc]
        async def token(self) -> str:
            return unsecured_token(user)

    return Tokens()


def kafka_python_tokens(user: str) -> object:
    """Return a token provider for kafka-python."""
    try:
        from kafka.net.sasl.oauth import AbstractTokenProvider
    except ModuleNotFoundError:  # before kafka-python 3
        from kafka.sasl.oauth import AbstractTokenProvider

    class Tokens(AbstractTokenProvider):  # type: ignore[misc]
        def token(self) -> str:
            return unsecured_token(user)

        def extensions(self) -> dict[str, str]:
            return {}

    return Tokens()
