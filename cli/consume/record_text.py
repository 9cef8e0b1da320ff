"""What is printed of a record: its value, a format as kcat's, or a line of JSON."""

from __future__ import annotations

import base64
import json
import re
import struct
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from kohort.cli.delimiters import unescaped
from kohort.protocol.visible import visible


class Message(Protocol):
    """As confluent-kafka's."""

    def topic(self) -> str | None: ...
    def partition(self) -> int | None: ...
    def offset(self) -> int | None: ...
    def key(self) -> Any: ...
    def value(self) -> Any: ...
    def headers(self) -> Any: ...
    def timestamp(self) -> tuple[int, int]:
        """The kind of time, and milliseconds since 1970."""
        ...


Headers = Sequence[tuple[str, bytes | None]]
Printer = Callable[[Message], bytes]
_TOKEN = re.compile(r"%(.)", re.DOTALL)
_TIME_KINDS = ("none", "create", "logappend")
"""As kcat names confluent-kafka's TIMESTAMP_… constants, in their order."""


class UnknownTokenError(ValueError):
    """A percent sign in a format before a letter that has no meaning."""


def formatted(text: str, *, shown: bool, null: bytes = b"") -> Printer:
    """A format's printer. `shown`: what is no printable character becomes an escape, for a terminal.

    Raises UnknownTokenError, UnknownEscapeError.
    """
    texts = _TOKEN.split(text)  # in turn: what is printed as it is, and a letter
    fixed = [unescaped(each) for each in texts[::2]]
    for letter in texts[1::2]:
        if letter not in _TOKENS:
            raise UnknownTokenError(f"%{letter} means nothing; there are {', '.join(f'%{each}' for each in _TOKENS)}")
    parts = [_TOKENS[letter] for letter in texts[1::2]]

    def show(data: bytes) -> bytes:
        return visible(data.decode("utf-8", "backslashreplace")).encode() if shown else data

    def write(message: Message) -> bytes:
        pieces = [fixed[0]]
        for part, behind in zip(parts, fixed[1:], strict=True):
            found = part(message)
            pieces += null if found is None else show(found), behind
        return b"".join(pieces)

    return write


def as_json(message: Message) -> bytes:
    """A line as kcat's --json, without `broker`; bytes that are no text are `{"base64": …}`."""
    kind, at_ms = message.timestamp()
    headers: Headers = message.headers() or ()
    said = {
        "topic": message.topic(),
        "partition": message.partition(),
        "offset": message.offset(),
        "tstype": _TIME_KINDS[kind],
        "ts": at_ms,
        "headers": [each for name, value in headers for each in (name, _in_json(value))],
        "key": _in_json(message.key()),
        "payload": _in_json(message.value()),
    }
    return json.dumps(said).encode() + b"\n"


def _in_json(data: bytes | None) -> str | dict[str, str] | None:
    if data is None:
        return None
    try:
        return data.decode()
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(data).decode()}


def _number(value: int | None) -> bytes:
    return b"%d" % (-1 if value is None else value)


def _size(data: bytes | None) -> int:
    return -1 if data is None else len(data)


def _headers(message: Message) -> bytes:
    headers: Headers = message.headers() or ()
    return b",".join(name.encode() + b"=" + (b"NULL" if value is None else value) for name, value in headers)


_TOKENS: dict[str, Callable[[Message], bytes | None]] = {
    "s": lambda message: message.value(),
    "S": lambda message: _number(_size(message.value())),
    "R": lambda message: struct.pack(">i", _size(message.value())),
    "k": lambda message: message.key(),
    "K": lambda message: _number(_size(message.key())),
    "T": lambda message: _number(message.timestamp()[1]),
    "h": _headers,
    "t": lambda message: (message.topic() or "").encode(),
    "p": lambda message: _number(message.partition()),
    "o": lambda message: _number(message.offset()),
    "%": lambda _: b"%",
}
"""As kcat's: value, its length, that as four bytes, key, its length, time, headers, topic, partition, offset."""
