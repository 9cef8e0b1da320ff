"""The header of a request."""

from functools import partial
from struct import Struct, error
from typing import Final, NamedTuple

from kohort.protocol.api_keys import APIS, NEVER
from kohort.protocol.errors import DecodeError
from kohort.protocol.wire import read_unsigned_varint

MAX_TAGGED_FIELDS: Final = 1_000  # Maximum tagged fields of a header. Clients of Kafka 4.4 send none.

_FIXED: Final = Struct(">hhih")
_FIRST_FLEXIBLE: Final = {api.key: api.first_flexible for api in APIS}


class RequestHeader(NamedTuple):
    """A request header. The body starts at `body_offset` of the same frame."""

    api_key: int
    api_version: int
    correlation_id: int
    client_id: str | None
    body_offset: int


# `RequestHeader._make` without a Python-level call, because every request has a header.
_make_header = partial(tuple.__new__, RequestHeader)


def read_header(frame: bytes, start: int = 0) -> RequestHeader:
    """Read the header of a frame at `start`, which is after the length if there is one.

    Keys and versions are returned as they were sent, supported or not; for an unknown API nothing after the client id
    is read. As in Java, U+FFFD replaces what is not UTF-8, and a negative length means null.
    Source: KIP-482; the client id has a length of two bytes in every version.

    Raises:
        DecodeError: The bytes are not a header.
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
    return _make_header((api_key, version, correlation_id, client_id, end))


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
