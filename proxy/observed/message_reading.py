"""Parsing of observed requests and responses."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from kohort.protocol.api_keys import API_BY_KEY
from kohort.protocol.errors import DecodeError
from kohort.protocol.messages import message_of
from kohort.protocol.wire import INT

if TYPE_CHECKING:
    from kohort.proxy.tap import ObservedCall

MAX_READ_ELEMENTS: Final = 10_000
"""Array elements of a request that is parsed, which takes about 10 ms; larger requests are ignored."""

SHORT_ANSWER: Final = 512  # largest response in the cache of parsed ones

BODY_AT: Final = 2 * INT.size  # end of the length and the correlation id of a response
_NO_CORRELATION: Final = bytes(INT.size)


def read_request(observed: ObservedCall) -> Any:
    """Return the request, or None if it can't be read: it is of a newer version, or has too many elements."""
    header = observed.header
    try:
        name = API_BY_KEY[header.api_key].name
        return message_of(name).read(header.api_version, observed.request, header.body_offset, MAX_READ_ELEMENTS)
    except DecodeError:
        return None


def read_response(observed: ObservedCall) -> Any:
    """Return the response, or None if it is unreadable or was not copied."""
    if observed.answer is None:
        return None
    header, body = observed.header, observed.answer[BODY_AT:]
    read = _read_short if len(body) <= SHORT_ANSWER else _read
    return read(API_BY_KEY[header.api_key].name, header.api_version, body)


def _read(name: str, version: int, body: bytes) -> Any:
    try:
        return message_of(name).read_answer(version, _NO_CORRELATION + body)[1]
    except DecodeError:
        return None


# most responses are equal to earlier ones; parsed values are never changed
_read_short = lru_cache(maxsize=1_024)(_read)
