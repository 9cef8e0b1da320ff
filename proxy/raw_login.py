"""Logins of old clients: after SaslHandshake version 0 they send tokens without a header (KIP-43), till they are in."""

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
}
"""How many a client sends, by mechanism; each is answered by one."""


def mechanism_in(body: bytes | memoryview) -> str:
    """The mechanism that a SaslHandshake asks for; empty where that can't be read."""
    try:
        (size,) = _LENGTH.unpack_from(body)
    except error:
        return ""
    return bytes(body[2 : 2 + max(size, 0)]).decode(errors="replace")


class RawLogin:
    """How far a client has come with its tokens."""

    def __init__(self, mechanism: str) -> None:
        self._left = TOKENS.get(mechanism)
        """None: nobody knows how many there are (GSSAPI), and each frame is looked at."""

    def takes(self, head: bytes | memoryview) -> bool:
        """Whether the next frame of the client, of which this is the head, is a token.

        Tokens of GSSAPI begin with 0x60 or 0x05 (RFC 4121), or are empty; a request with a key and a version.
        """
        if self._left is None:
            return not _is_request(head)
        self._left -= 1
        return self._left >= 0


def _is_request(head: bytes | memoryview) -> bool:
    if len(head) < _HEAD.size:
        return False
    key, version = _HEAD.unpack_from(head)
    api = API_BY_KEY.get(key)
    return api is not None and 0 <= version <= api.max_version
