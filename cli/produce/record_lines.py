"""Parsing of stdin into records: text between delimiters, each a record."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, NamedTuple

MAX_LINE_BYTES = 104_857_600  # default of a broker's socket.request.max.bytes; longer lines are rejected

FIELDS = ("payload", "key", "headers", "partition", "ts")
IGNORED_FIELDS = ("topic", "offset", "tstype", "broker")  # fields of `kohort consume --json` and kcat that are ignored


class LineError(ValueError):
    """A line that is not a valid record. The message describes the defect."""


class NewRecord(NamedTuple):
    """Record to be sent."""

    value: bytes | None
    key: bytes | None = None
    headers: tuple[tuple[str, bytes | None], ...] = ()
    partition: int | None = None
    timestamp_ms: int | None = None


def lines(chunks: Iterable[bytes], delimiter: bytes) -> Iterator[bytes | None]:
    """Split chunks at delimiters; yield None for an empty chunk, which means that stdin is idle.

    Text after the last delimiter is a line, too, unless it is empty.

    Raises:
        LineError: A line is too long.
    """
    pending = bytearray()
    searched = 0
    for chunk in chunks:
        if not chunk:
            yield None
            continue
        pending += chunk
        while (end := pending.find(delimiter, searched)) >= 0:
            yield bytes(pending[:end])
            del pending[: end + len(delimiter)]
            searched = 0
        searched = max(0, len(pending) - len(delimiter) + 1)
        if len(pending) > MAX_LINE_BYTES:
            raise LineError(f"is longer than {MAX_LINE_BYTES >> 20} MiB; is --delimiter right?")
    if pending:
        yield bytes(pending)


@dataclass(frozen=True, slots=True)
class LineReader:
    """Parser of lines."""

    key_delimiter: bytes | None = None
    as_json: bool = False
    empty_is_null: bool = False
    key: bytes | None = None
    headers: tuple[tuple[str, bytes | None], ...] = ()
    partition: int | None = None  # overrides the partition in a line of JSON

    def record(self, line: bytes) -> NewRecord:
        if self.as_json:
            record = _from_json(line)
        else:
            key, separator, value = line.partition(self.key_delimiter) if self.key_delimiter else (b"", b"", line)
            record = NewRecord(self._null(value), self._null(key)) if separator else NewRecord(self._null(line))
        return record._replace(
            key=self.key if record.key is None else record.key,
            headers=(*self.headers, *record.headers),
            partition=record.partition if self.partition is None else self.partition,
        )

    def _null(self, data: bytes) -> bytes | None:
        return data or (None if self.empty_is_null else b"")


def _from_json(line: bytes) -> NewRecord:
    try:
        fields = json.loads(line)
    except ValueError as error:
        raise LineError(f"is not JSON: {error}") from None
    if not isinstance(fields, dict):
        raise LineError("is not a JSON object")
    for name in fields:
        if name not in FIELDS and name not in IGNORED_FIELDS:
            near = get_close_matches(name, FIELDS, 1)
            hint = f"did you mean {near[0]}?" if near else f"expected one of {', '.join(FIELDS)}"
            raise LineError(f"has an unknown field {name!r}; {hint}")
    return NewRecord(
        _bytes(fields.get("payload"), "payload"),
        _bytes(fields.get("key"), "key"),
        _headers(fields.get("headers") or ()),
        _number(fields.get("partition"), "partition"),
        _number(fields.get("ts"), "ts"),
    )


def _bytes(value: Any, name: str) -> bytes | None:
    if value is None:
        return None
    if isinstance(value, str):
        try:
            return value.encode()
        except UnicodeEncodeError:
            raise LineError(f"has a lone surrogate in {name}; write bytes that are not text as base64") from None
    if isinstance(value, dict) and list(value) == ["base64"] and isinstance(value["base64"], str):
        try:
            return base64.b64decode(value["base64"], validate=True)
        except (binascii.Error, ValueError):
            raise LineError(f"has a {name} that is not base64") from None
    raise LineError(f'has a {name} that is not text, null or {{"base64": "…"}}')


def _headers(headers: Any) -> tuple[tuple[str, bytes | None], ...]:
    if isinstance(headers, dict):
        return tuple((name, _bytes(value, f"header {name}")) for name, value in headers.items())
    if (
        not isinstance(headers, list | tuple)
        or len(headers) % 2
        or not all(isinstance(name, str) for name in headers[::2])
    ):
        raise LineError("has headers that are not an object or alternating names and values")
    return tuple(
        (name, _bytes(value, f"header {name}")) for name, value in zip(headers[::2], headers[1::2], strict=True)
    )


def _number(value: Any, name: str) -> int | None:
    if value is not None and (not isinstance(value, int) or isinstance(value, bool) or value < 0):
        raise LineError(f"has a {name} that is not a non-negative integer")
    return value
