"""Client side of SASL: SaslHandshake and SaslAuthenticate (KIP-43, KIP-152).

The mechanisms are PLAIN (RFC 4616), SCRAM (RFC 5802) and OAUTHBEARER (RFC 7628).

The few bytes are encoded here, because the messages in `protocol/` are those that kohort's broker serves.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import os
import struct
from collections.abc import Generator
from typing import TypeVar

from kohort.client.login_error import LoginError
from kohort.client.oauth_tokens import token_of
from kohort.client.security import Security

__all__ = ["AUTHENTICATE", "HANDSHAKE", "MIN_ITERATIONS", "LoginError", "log_in"]

HANDSHAKE, AUTHENTICATE = 17, 36
MIN_ITERATIONS = 4096  # Kafka's minimum; with fewer a fake broker could guess the password
_UNSUPPORTED_MECHANISM, _NO_LOGIN_HERE, _FAILED = 33, 34, 58

ResultT = TypeVar("ResultT")
# Yields API key, version and body of a request, and receives the body of the response.
Talk = Generator[tuple[int, int, bytes], bytes, ResultT]

# Yields a message, receives the broker's reply, and ends when the authentication is complete.
Steps = Generator[bytes, bytes, None]


def log_in(security: Security, version: int) -> Talk[int]:
    """Authenticate and return the session lifetime in milliseconds; 0 means unlimited.

    Args:
        version: Version of SaslAuthenticate that the broker supports, at most 1.
    """
    yield from _handshake(security.mechanism)
    lasts_ms = 0
    steps = _steps(security)
    message = next(steps)
    while True:
        answer, lasts_ms = yield from _authenticate(message, version)
        try:
            message = steps.send(answer)
        except StopIteration:
            return lasts_ms


def _steps(security: Security) -> Steps:
    if security.mechanism == "PLAIN":
        return _plain(security)
    if security.mechanism == "OAUTHBEARER":
        return _oauthbearer(token_of(security))
    return _scram(security, _nonce())


def _handshake(mechanism: str) -> Talk[None]:
    answer = yield HANDSHAKE, 1, _string(mechanism)
    (error,) = struct.unpack_from(">h", answer)
    if error:
        offered = ", ".join(_strings(answer, 2)) or "nothing"
        if error == _UNSUPPORTED_MECHANISM:
            raise LoginError(f"the broker doesn't take sasl.mechanism={mechanism}; it offers {offered}")
        if error == _NO_LOGIN_HERE:
            raise LoginError("this port takes no login; try security.protocol=PLAINTEXT or SSL")
        raise LoginError(f"the broker refuses to begin a login (error {error})")


def _authenticate(message: bytes, version: int) -> Talk[tuple[bytes, int]]:
    answer = yield AUTHENTICATE, version, struct.pack(">i", len(message)) + message
    error, size = struct.unpack_from(">hh", answer)
    at = 4 + max(0, size)
    if error:
        reason = answer[4:at].decode("utf-8", "replace") or f"error {error}"
        raise LoginError(f"the login failed: {reason}" if error == _FAILED else f"the login was refused: {reason}")
    (size,) = struct.unpack_from(">i", answer, at)
    at += 4
    lasts_ms = struct.unpack_from(">q", answer, at + max(0, size))[0] if version >= 1 else 0
    return answer[at : at + max(0, size)], lasts_ms


def _string(text: str) -> bytes:
    data = text.encode()
    return struct.pack(">h", len(data)) + data


def _strings(data: bytes, at: int) -> list[str]:
    (count,) = struct.unpack_from(">i", data, at)
    at += 4
    texts = []
    for _ in range(min(count, 100)):
        (size,) = struct.unpack_from(">h", data, at)
        texts.append(data[at + 2 : at + 2 + size].decode("utf-8", "replace"))
        at += 2 + size
    return texts


def _nonce() -> str:
    return base64.b64encode(os.urandom(24)).decode()


def _plain(security: Security) -> Steps:
    yield f"\0{security.username}\0{security.password}".encode()


def _oauthbearer(token: str) -> Steps:
    """Send a token. A broker rejects it twice: the second time, after an acknowledgement, as an error."""
    if (yield f"n,,\x01auth=Bearer {token}\x01\x01".encode()):
        yield b"\x01"


def _scram(security: Security, nonce: str) -> Steps:
    """Prove knowledge of the password without sending it, and verify the broker's proof."""
    digest = "sha256" if security.mechanism == "SCRAM-SHA-256" else "sha512"
    name = security.username.replace("=", "=3D").replace(",", "=2C")
    first = f"n={name},r={nonce}"
    challenge = (yield f"n,,{first}".encode()).decode("utf-8", "replace")
    attributes = _attributes(challenge)
    try:
        both, salt, iterations = attributes["r"], base64.b64decode(attributes["s"]), int(attributes["i"])
    except (KeyError, ValueError):
        raise LoginError("the broker's SCRAM challenge can't be read") from None
    if not both.startswith(nonce) or both == nonce:
        raise LoginError("the broker's SCRAM challenge does not contain this client's nonce")
    if iterations < MIN_ITERATIONS:
        raise LoginError(f"the broker requires {iterations} SCRAM iterations; fewer than {MIN_ITERATIONS} are unsafe")
    salted = hashlib.pbkdf2_hmac(digest, security.password.encode(), salt, iterations)
    client_key = hmac.digest(salted, b"Client Key", digest)
    last = f"c=biws,r={both}"
    everything = f"{first},{challenge},{last}".encode()
    signature = hmac.digest(hashlib.new(digest, client_key).digest(), everything, digest)
    proof = bytes(a ^ b for a, b in zip(client_key, signature, strict=True))
    answer = _attributes((yield f"{last},p={base64.b64encode(proof).decode()}".encode()).decode("utf-8", "replace"))
    expected = hmac.digest(hmac.digest(salted, b"Server Key", digest), everything, digest)
    if not hmac.compare_digest(answer.get("v", "").encode(), base64.b64encode(expected)):
        raise LoginError("the broker cannot prove that it knows this user's password; it may be an impostor")


def _attributes(text: str) -> dict[str, str]:
    return {part[0]: part[2:] for part in text.split(",") if part[1:2] == "="}
