"""Tokens for OAUTHBEARER: from a file, or unsecured ones for tests (KIP-255)."""

from __future__ import annotations

import base64
import json
import time
from pathlib import Path

from kohort.client.login_error import LoginError
from kohort.client.security import Security

LIFE_S = 3_600  # lifetime of an unsecured token, as in Java clients


def token_of(security: Security) -> str:
    """Return the token for a login.

    Raises:
        LoginError: The file cannot be read.
    """
    if not security.token_file:
        return _unsecured(security.username, time.time())
    try:
        return Path(security.token_file).read_text(encoding="ascii").strip()
    except OSError as problem:
        raise LoginError(f"the token in {security.token_file} can't be read: {problem.strerror}") from None
    except UnicodeDecodeError:
        raise LoginError(f"{security.token_file} holds no token: it isn't ASCII") from None


def _unsecured(subject: str, now_s: float) -> str:
    """Build an unsecured token. Source: RFC 7515, appendix A.5; Kafka's `OAuthBearerUnsecuredLoginCallbackHandler`."""
    claims = {"sub": subject, "iat": int(now_s), "exp": int(now_s) + LIFE_S}
    return f"{_encoded({'alg': 'none'})}.{_encoded(claims)}."


def _encoded(part: dict[str, object]) -> str:
    return base64.urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=")
