"""ApiVersions as clients of the proxy hear it: what the cluster offers, but for versions that can't be passed on."""

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
    """An answer to ApiVersions, without its length, that offers no version whose addresses would not be found.

    Everything else stays, APIs that nobody here knows included. Source: KIP-511: the answer to a version that a broker
    doesn't know is in version 0.
    """
    try:
        _, problem = _HEAD.unpack_from(frame)
        flexible = version >= _FIRST_FLEXIBLE and problem != ErrorCode.unsupported_version.value
        kept, end = _offered(bytes(frame), flexible)
    except (IndexError, ValueError, error) as cause:
        raise RelayError(f"an answer to ApiVersions that can't be read: {cause}") from None
    count = compact_length(len(kept)) if flexible else _COUNT.pack(len(kept))
    return bytearray(b"".join((frame[: _HEAD.size], count, *kept, frame[end:])))


def _offered(frame: bytes, flexible: bool) -> tuple[list[bytes], int]:
    """What is left of each API that is offered, and where the list ends."""
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
