"""Requests and answers that were overheard, as values."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from kohort.protocol.api_keys import API_BY_KEY
from kohort.protocol.errors import DecodeError
from kohort.protocol.messages import message_of
from kohort.protocol.wire import INT

if TYPE_CHECKING:
    from kohort.proxy.tap import Overheard

MAX_READ_ELEMENTS: Final = 10_000
"""Array elements of a request that is read, which takes about 10 ms; one with more passes unseen."""

SHORT_ANSWER: Final = 512
"""At most this many bytes are looked up among the answers that were read lately."""

BODY_AT: Final = 2 * INT.size
"""Where an answer goes on behind its length and its correlation id."""
_NO_CORRELATION: Final = bytes(INT.size)


def request_in(overheard: Overheard) -> Any:
    """Return the request, or None if it can't be read: it is of a newer version, or has too many elements."""
    header = overheard.header
    try:
        name = API_BY_KEY[header.api_key].name
        return message_of(name).read(header.api_version, overheard.request, header.body_offset, MAX_READ_ELEMENTS)
    except DecodeError:
        return None


def answer_in(overheard: Overheard) -> Any:
    """The answer; None where it can't be read, or was not kept."""
    if overheard.answer is None:
        return None
    header, body = overheard.header, overheard.answer[BODY_AT:]
    read = _read_short if len(body) <= SHORT_ANSWER else _read
    return read(API_BY_KEY[header.api_key].name, header.api_version, body)


def _read(name: str, version: int, body: bytes) -> Any:
    try:
        return message_of(name).read_answer(version, _NO_CORRELATION + body)[1]
    except DecodeError:
        return None


_read_short = lru_cache(maxsize=1_024)(_read)
"""Most answers are like others. Nobody changes what was read."""
