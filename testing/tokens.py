"""Tokens that nobody has signed, for clients of a secured cluster: what OAUTHBEARER wants without an authority.

Source: RFC 7515 (`alg: none`), KIP-255.
"""

from __future__ import annotations

import json
from base64 import urlsafe_b64encode

from kohort.broker.clock import machines

LIFE_S = 3_600
"""How long a token counts, by the broker's clock, which a test moves."""


def unsecured_token(user: str) -> str:
    """A token of now."""
    now_s = machines("time_ns")() // 1_000_000_000
    parts = ({"alg": "none"}, {"sub": user, "iat": now_s, "exp": now_s + LIFE_S})
    return "".join(urlsafe_b64encode(json.dumps(each).encode()).decode().rstrip("=") + "." for each in parts)


def aiokafka_tokens(user: str) -> object:
    """What aiokafka asks for a token."""
    from aiokafka.abc import AbstractTokenProvider

    class Tokens(AbstractTokenProvider):  # type: ignore[misc]
        async def token(self) -> str:
            return unsecured_token(user)

    return Tokens()


def kafka_python_tokens(user: str) -> object:
    """What kafka-python asks for a token."""
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
