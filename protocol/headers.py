"""The header in front of every request."""

from functools import partial
from struct import Struct, error
from typing import Final, NamedTuple

from kohort.protocol.api_keys import APIS, NEVER
from kohort.protocol.errors import DecodeError
from kohort.protocol.wire import read_unsigned_varint

MAX_TAGGED_FIELDS: Final = 1_000
"""Tagged fields that a header may have. Clients of Kafka 4.3 send none."""

_FIXED: Final = Struct(">hhih")
_FIRST_FLEXIBLE: Final = {api.key: api.first_flexible for api in APIS}


class RequestHeader(NamedTuple):
    """What a request says about itself. The body starts at `body_offset` of the same frame."""

    api_key: int
    api_version: int
    correlation_id: int
    client_id: str | None
    body_offset: int


_made = partial(tuple.__new__, RequestHeader)
"""As `RequestHeader._make`, without a call in Python: every request has a header."""


def read_header(frame: bytes, start: int = 0) -> RequestHeader:
    """Reads the header of a frame, which begins at `start`: behind its four length bytes, if they are there.

    Keys and versions come back as they were sent, served or not; of an API that is not in the table nothing beyond the
    client id is looked at. Raises DecodeError for anything that is no header.
    Source: KIP-482; the client id keeps its two length bytes in every version. As in Java, U+FFFD takes the place of
    what is no UTF-8, and a negative length is null.
    """
    try:
        api_key, version, correlation_id, length = _FIXED.unpack_from(frame, start)
        end = start + 10
        client_id = None
        if length >= 0:
            at, end = end, end + length
            client_id = frame[at:end].decode(errors="replace")
        if version >= _FIRST_FLEXIBLE.get(api_key, NEVER):
            end = end + 1 if frame[end] == 0 else _skip_tags(frame, end)
    except (error, IndexError) as problem:
        raise DecodeError(f"no request header: {problem}") from problem
    if end > len(frame):
        raise DecodeError("the request header ends too early")
    return _made((api_key, version, correlation_id, client_id, end))


def _skip_tags(frame: bytes, at: int) -> int:
    count, at = read_unsigned_varint(frame, at)
    if count > MAX_TAGGED_FIELDS:
        raise DecodeError(f"a request header of {count} tagged fields")
    for _ in range(count):
        _, at = read_unsigned_varint(frame, at)
        size, at = read_unsigned_varint(frame, at)
        at += size
        if at > len(frame):
            raise DecodeError("a tagged field of the request header ends too early")
    return at
