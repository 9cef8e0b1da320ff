"""From what comes in on stdin to records: pieces between delimiters, each one a record."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, NamedTuple

MOST_LINE_BYTES = 104_857_600
"""As much as a broker's `socket.request.max.bytes` lets through by default: a longer line is no record."""

FIELDS = ("payload", "key", "headers", "partition", "ts")
PASSED_OVER = ("topic", "offset", "tstype", "broker")
"""What `kohort consume --json` and kcat tell of a record that has no meaning for a new one."""


class LineError(ValueError):
    """A line that is no record. The text says what is wrong with it."""


class NewRecord(NamedTuple):
    """What is to be sent."""

    value: bytes | None
    key: bytes | None = None
    headers: tuple[tuple[str, bytes | None], ...] = ()
    partition: int | None = None
    timestamp_ms: int | None = None


def lines(chunks: Iterable[bytes], delimiter: bytes) -> Iterator[bytes | None]:
    """What is between delimiters; None for an empty chunk, which says that nothing has come for a while.

    What stands behind the last delimiter is a line, too, unless it is empty. Raises LineError.
    """
    pending = bytearray()
    looked_at = 0
    for chunk in chunks:
        if not chunk:
            yield None
            continue
        pending += chunk
        while (end := pending.find(delimiter, looked_at)) >= 0:
            yield bytes(pending[:end])
            del pending[: end + len(delimiter)]
            looked_at = 0
        looked_at = max(0, len(pending) - len(delimiter) + 1)
        if len(pending) > MOST_LINE_BYTES:
            raise LineError(f"is longer than {MOST_LINE_BYTES >> 20} MiB; is --delimiter right?")
    if pending:
        yield bytes(pending)


@dataclass(frozen=True, slots=True)
class LineReader:
    """What a line means."""

    key_delimiter: bytes | None = None
    as_json: bool = False
    empty_is_null: bool = False
    key: bytes | None = None
    headers: tuple[tuple[str, bytes | None], ...] = ()
    partition: int | None = None
    """For all of them, whatever a line of JSON says."""

    def record(self, line: bytes) -> NewRecord:
        """Raises LineError."""
        if self.as_json:
            found = _from_json(line)
        else:
            key, found_key, value = line.partition(self.key_delimiter) if self.key_delimiter else (b"", b"", line)
            found = NewRecord(self._null(value), self._null(key)) if found_key else NewRecord(self._null(line))
        return found._replace(
            key=self.key if found.key is None else found.key,
            headers=(*self.headers, *found.headers),
            partition=found.partition if self.partition is None else self.partition,
        )

    def _null(self, data: bytes) -> bytes | None:
        return data or (None if self.empty_is_null else b"")


def _from_json(line: bytes) -> NewRecord:
    try:
        said = json.loads(line)
    except ValueError as problem:
        raise LineError(f"is no JSON: {problem}") from None
    if not isinstance(said, dict):
        raise LineError("is no JSON object")
    for name in said:
        if name not in FIELDS and name not in PASSED_OVER:
            near = get_close_matches(name, FIELDS, 1)
            hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(FIELDS)}"
            raise LineError(f"has an unknown field {name!r}; {hint}")
    return NewRecord(
        _bytes(said.get("payload"), "payload"),
        _bytes(said.get("key"), "key"),
        _headers(said.get("headers") or ()),
        _number(said.get("partition"), "partition"),
        _number(said.get("ts"), "ts"),
    )


def _bytes(said: Any, name: str) -> bytes | None:
    """Text in UTF-8; `{"base64": …}` is what is no text; null is nothing."""
    if said is None:
        return None
    if isinstance(said, str):
        try:
            return said.encode()
        except UnicodeEncodeError:
            raise LineError(f"has half a letter in {name}; write bytes that are no text as base64") from None
    if isinstance(said, dict) and list(said) == ["base64"] and isinstance(said["base64"], str):
        try:
            return base64.b64decode(said["base64"], validate=True)
        except (binascii.Error, ValueError):
            raise LineError(f"has a {name} that is no base64") from None
    raise LineError(f'has a {name} that is neither text nor null nor {{"base64": "…"}}')


def _headers(said: Any) -> tuple[tuple[str, bytes | None], ...]:
    """A list of names and values in turn, as kcat writes it, or an object."""
    if isinstance(said, dict):
        return tuple((name, _bytes(value, f"header {name}")) for name, value in said.items())
    if not isinstance(said, list | tuple) or len(said) % 2 or not all(isinstance(each, str) for each in said[::2]):
        raise LineError("has headers that are neither an object nor names and values in turn")
    return tuple((name, _bytes(value, f"header {name}")) for name, value in zip(said[::2], said[1::2], strict=True))


def _number(said: Any, name: str) -> int | None:
    if said is not None and (not isinstance(said, int) or isinstance(said, bool) or said < 0):
        raise LineError(f"has a {name} that is no number from 0 on")
    return said
