"""A broker's log line out of what collectors have put around it: JSON, JSON in JSON, cells, colours.

Nothing is known here of a collector: the message is whatever text within has the words of a coordinator or an
authorizer, and the time is what stands beside it.
"""

from __future__ import annotations

import csv
import datetime
import json
import re
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from kohort.pipeline.sources.checked import UNREADABLE

MARK = "[GroupCoordinator"
DENIED = " is Denied operation = "

TIME = re.compile(
    r"(?P<day>\d{4}(?P<separator>[-/.])\d\d(?P=separator)\d\d)[T ]"
    r"(?P<clock>\d\d:\d\d:\d\d)(?:[,.](?P<fraction>\d{1,9}))?\s?(?P<zone>Z|[+-]\d\d:?\d\d)?"
)
_TIMES = (
    *("@timestamp", "timestamp", "time", "instant", "timeMillis", "ts", "_time", "date", "Timestamp", "eventTime"),
    "__REALTIME_TIMESTAMP",
)
"""Names of what stands beside a message and says when it was; the first that does counts."""

_COLOURS = re.compile(r"\x1b\[[0-9;]*m")

_DEEPEST = 8
"""How often JSON may stand in JSON."""

_MOST_LINES, _MOST_CHARACTERS = 500, 1 << 20
"""The most that an object takes which is written over several lines."""

Moment = tuple[int, bool]
"""Milliseconds since 1970, and whether the text says in which zone it is."""


class Unwrapped(NamedTuple):
    """The line as the broker wrote it, and when it was, by who has wrapped it."""

    message: str
    outside: Moment | None


def unwrapped(line: str) -> Unwrapped:
    """The message within JSON, however deep, and the time nearest to it; any other line as it is."""
    outside: Moment | None = None
    for _ in range(_DEEPEST):
        start = line.find("{")
        mark = _mark_in(line)
        if start < 0 or (0 <= mark < start):
            break
        try:
            row, _ = json.JSONDecoder().raw_decode(line, start)
        except UNREADABLE:
            break
        found = _within(row)
        if found is None:
            break
        before = TIME.search(line[:start])
        message, beside = found
        outside = beside or (moment(before) if before else None) or outside
        line = message.rstrip("\r\n")
    if "\x1b" in line:
        line = _COLOURS.sub("", line)
    if line.endswith('"') and (cell := _cell(line)) is not None:
        outside = outside or next((moment(each) for each in TIME.finditer(line[: line.find(cell[:20])])), None)
        line = cell
    return Unwrapped(line, outside)


def _cell(line: str) -> str | None:
    """The cell with a mark of a row of CSV; None: it is none."""
    try:
        cells = next(csv.reader([line], strict=True), [])
    except (csv.Error, UnicodeError):
        return None
    return next((each for each in cells if _mark_in(each) >= 0), None) if len(cells) > 1 else None


def _mark_in(line: str) -> int:
    return max(line.find(MARK), line.find(DENIED))


def _within(value: Any, beside: Moment | None = None, depth: int = 0) -> tuple[str, Moment | None] | None:
    """The first text with a mark in a value of JSON, and the time that stands nearest to it."""
    if isinstance(value, str):
        return (value, beside) if _mark_in(value) >= 0 else None
    if depth > _DEEPEST or not isinstance(value, dict | list):
        return None
    if isinstance(value, dict):
        beside = next((at for name in _TIMES if (at := json_time(value.get(name), name)) is not None), beside)
    for each in value.values() if isinstance(value, dict) else value:
        found = _within(each, beside, depth + 1)
        if found is not None:
            return found
    return None


def json_time(value: Any, name: str = "") -> Moment | None:
    """A time as collectors and log4j's layouts write it: text, seconds to microseconds, or seconds and nanoseconds."""
    if isinstance(value, dict):
        seconds, nanos = value.get("epochSecond"), value.get("nanoOfSecond", 0)
        if not isinstance(seconds, int) or not isinstance(nanos, int):
            return None
        return seconds * 1000 + nanos // 1_000_000, True
    if isinstance(value, str) and name == "__REALTIME_TIMESTAMP" and value.isdecimal():
        value = int(value)
    if isinstance(value, int | float) and not isinstance(value, bool):
        for from_, factor in ((1e17, 1e-6), (1e14, 1e-3), (1e11, 1)):  # nano-, micro-, milliseconds
            if value > from_:
                return round(value * factor), True
        return round(value * 1000), True
    if isinstance(value, str) and (found := TIME.match(value)):
        return moment(found)
    return None


def moment(found: re.Match[str]) -> Moment:
    """The time that TIME has found. Raises ValueError for a day that there is not."""
    zone = found["zone"]
    offset = "+00:00" if zone in (None, "Z") else zone
    at = datetime.datetime.fromisoformat(f"{found['day'].replace(found['separator'], '-')}T{found['clock']}{offset}")
    milliseconds = int((found["fraction"] or "0").ljust(3, "0")[:3])
    return round(at.timestamp()) * 1000 + milliseconds, zone is not None


class Joining:
    """Makes one line of an object that is written over several; the innermost that begins on a line of its own."""

    def __init__(self) -> None:
        self._open: list[str] = []
        self._characters = 0

    def lines(self, lines: Iterable[str]) -> Iterator[str]:
        """Lines as they come, but for such objects. What has begun goes on with the next portion."""
        for line in lines:
            bare = line.strip()
            if bare in ("{", "[{"):
                yield from self._given_up()
                self._open, self._characters = [bare[-1]], 1
            elif not self._open:
                yield line
            else:
                self._open.append(bare)
                self._characters += len(bare)
                if bare in ("}", "},", "}]") and (whole := self._whole()) is not None:
                    self._open = []
                    yield whole
                elif len(self._open) > _MOST_LINES or self._characters > _MOST_CHARACTERS:
                    yield from self._given_up()

    def end(self) -> Iterator[str]:
        """What has begun and never ended."""
        yield from self._given_up()

    def _whole(self) -> str | None:
        text = " ".join(self._open).rstrip(",]")
        try:
            json.loads(text)
        except UNREADABLE:
            return None
        return text

    def _given_up(self) -> Iterator[str]:
        opened, self._open = self._open, []
        yield from opened
