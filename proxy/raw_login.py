"""Logins of old clients, which send tokens without a header (KIP-43) after SaslHandshake version 0."""

from __future__ import annotations

from struct import Struct, error
from typing import Final

from kohort.protocol.api_keys import API_BY_KEY

_LENGTH: Final = Struct(">h")
_HEAD: Final = Struct(">hh")

TOKENS: Final = {
    "PLAIN": 1,
    "OAUTHBEARER": 1,
    "SCRAM-SHA-256": 2,
    "SCRAM-SHA-512": 2,
}  # tokens that a client sends, by mechanism; each gets one response


def mechanism_in(body: bytes | memoryview) -> str:
    """Return the mechanism in a SaslHandshake request, or an empty string if it is unreadable."""
    try:
        (size,) = _LENGTH.unpack_from(body)
    except error:
        return ""
    return bytes(body[2 : 2 + max(size, 0)]).decode(errors="replace")


class RawLogin:
    """Progress of a client's tokens."""

    def __init__(self, mechanism: str) -> None:
        # Tokens still to come; None if their number is unknown (GSSAPI), so that each frame is checked.
        self._remaining = TOKENS.get(mechanism)

    def takes(self, head: bytes | memoryview) -> bool:
        """Return whether the client's next frame, which begins with `head`, is a token.

        Tokens of GSSAPI begin with 0x60 or 0x05 (RFC 4121), or are empty; a request begins with a key and a version.
        """
        if self._remaining is None:
            return not _is_request(head)
        self._remaining -= 1
        return self._remaining >= 0


def _is_request(head: bytes | memoryview) -> bool:
    if len(head) < _HEAD.size:
        return False
    key, version = _HEAD.unpack_from(head)
    api = API_BY_KEY.get(key)
    return api is not None and 0 <= version <= api.max_version
