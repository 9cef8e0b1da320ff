"""ApiVersions responses without the versions whose responses the proxy can't rewrite."""

from __future__ import annotations

from struct import Struct, error
from typing import Final

from kohort.protocol.errors import ErrorCode
from kohort.protocol.wire import compact_length, read_unsigned_varint
from kohort.proxy.addressed_apis import ADDRESSED, newest_passable, oldest_passable
from kohort.proxy.relay_error import RelayError

_API: Final = Struct(">hhh")
_HEAD: Final = Struct(">ih")
_COUNT: Final = Struct(">i")
_FIRST_FLEXIBLE: Final = 3


def narrowed(frame: bytearray, version: int) -> bytearray:
    """Return an ApiVersions response, without its length, with only the versions whose addresses the proxy can locate.

    Everything else stays, including unknown APIs. Source: KIP-511: the response to an unknown version is in version 0.
    """
    try:
        _, failure = _HEAD.unpack_from(frame)
        flexible = version >= _FIRST_FLEXIBLE and failure != ErrorCode.unsupported_version.value
        kept, end = _offered(bytes(frame), flexible)
    except (IndexError, ValueError, error) as cause:
        raise RelayError(f"an answer to ApiVersions that can't be read: {cause}") from None
    count = compact_length(len(kept)) if flexible else _COUNT.pack(len(kept))
    return bytearray(b"".join((frame[: _HEAD.size], count, *kept, frame[end:])))


def _offered(frame: bytes, flexible: bool) -> tuple[list[bytes], int]:
    """Return the encoded entries of all offered APIs, and the end of the list."""
    at = _HEAD.size
    if flexible:
        count, at = read_unsigned_varint(frame, at)
        count -= 1
    else:
        (count,), at = _COUNT.unpack_from(frame, at), at + _COUNT.size
    kept: list[bytes] = []
    for _ in range(count):
        end = _behind_tags(frame, at + _API.size) if flexible else at + _API.size
        key, lowest, highest = _API.unpack_from(frame, at)
        if key in ADDRESSED:
            lowest, highest = max(lowest, oldest_passable(key)), min(highest, newest_passable(key))
        if lowest <= highest:
            kept.append(_API.pack(key, lowest, highest) + frame[at + _API.size : end])
        at = end
    return kept, at


def _behind_tags(frame: bytes, at: int) -> int:
    count, at = read_unsigned_varint(frame, at)
    for _ in range(count):
        _, at = read_unsigned_varint(frame, at)
        size, at = read_unsigned_varint(frame, at)
        at += size
    return at
