"""The field of a Produce request on which it depends whether there is a response."""

from __future__ import annotations

from typing import Final

from kohort.protocol.headers import RequestHeader
from kohort.protocol.wire import read_unsigned_varint

_FIRST_FLEXIBLE_PRODUCE: Final = 9
_PRODUCE_WITH_TRANSACTIONS: Final = 3


def acks(frame: bytes, header: RequestHeader) -> int:
    """Return how many replicas a Produce request waits for; with 0 it has no response.

    Raises:
        IndexError: The request is cut off.
    """
    at = header.body_offset
    if header.api_version >= _FIRST_FLEXIBLE_PRODUCE:
        size, at = read_unsigned_varint(frame, at)
        at += max(size - 1, 0)
    elif header.api_version >= _PRODUCE_WITH_TRANSACTIONS:
        at += 2 + max(frame[at] << 8 | frame[at + 1], 0) if frame[at] < 0x80 else 2
    return int.from_bytes((frame[at], frame[at + 1]), "big", signed=True)
