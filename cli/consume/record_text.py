"""Formats of printed records: the value, a format like kcat's, or a line of JSON."""

from __future__ import annotations

import base64
import json
import re
import struct
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from kohort.base.visible import visible
from kohort.cli.delimiters import unescaped


class Message(Protocol):
    """Interface of confluent-kafka's messages."""

    def topic(self) -> str | None: ...
    def partition(self) -> int | None: ...
    def offset(self) -> int | None: ...
    def key(self) -> Any: ...
    def value(self) -> Any: ...
    def headers(self) -> Any: ...
    def timestamp(self) -> tuple[int, int]:
        """Return the type of the timestamp, and milliseconds since 1970."""
        ...


Headers = Sequence[tuple[str, bytes | None]]
Printer = Callable[[Message], bytes]
_TOKEN = re.compile(r"%(.)", re.DOTALL)
_TIME_KINDS = ("none", "create", "logappend")  # kcat's names of confluent-kafka's TIMESTAMP_… constants, in their order


class UnknownTokenError(ValueError):
    """A percent sign before a letter that has no meaning."""


def formatted(text: str, *, escape: bool, null: bytes = b"") -> Printer:
    """Compile a format to a function that prints a record.

    Args:
        shown: Escape unprintable characters, for a terminal.

    Raises:
        UnknownTokenError: A letter after a percent sign has no meaning.
        UnknownEscapeError: An escape has no meaning.
    """
    texts = _TOKEN.split(text)  # literal text and letters, alternating
    fixed = [unescaped(text) for text in texts[::2]]
    for letter in texts[1::2]:
        if letter not in _TOKENS:
            raise UnknownTokenError(
                f"unknown format %{letter}; expected one of {', '.join(f'%{token}' for token in _TOKENS)}"
            )
    parts = [_TOKENS[letter] for letter in texts[1::2]]

    def show(data: bytes) -> bytes:
        return visible(data.decode("utf-8", "backslashreplace")).encode() if escape else data

    def write(message: Message) -> bytes:
        pieces = [fixed[0]]
        for part, fixed_text in zip(parts, fixed[1:], strict=True):
            data = part(message)
            pieces += null if data is None else show(data), fixed_text
        return b"".join(pieces)

    return write


def as_json(message: Message) -> bytes:
    """Return a record as a line of kcat's --json, without `broker`; bytes that are not UTF-8 become `{"base64": …}`."""
    kind, at_ms = message.timestamp()
    headers: Headers = message.headers() or ()
    fields = {
        "topic": message.topic(),
        "partition": message.partition(),
        "offset": message.offset(),
        "tstype": _TIME_KINDS[kind],
        "ts": at_ms,
        "headers": [item for name, value in headers for item in (name, _in_json(value))],
        "key": _in_json(message.key()),
        "payload": _in_json(message.value()),
    }
    return json.dumps(fields).encode() + b"\n"


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
}  # kcat's: value, its length, the length as four bytes, key, its length, time, headers, topic, partition, offset
