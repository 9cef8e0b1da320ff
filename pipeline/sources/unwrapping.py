"""Extraction of a broker's log line from the JSON, nested JSON, CSV or colors that a log collector added.

No collector is known by name: the message is any text with a coordinator's or authorizer's marker, and the time is
the nearest one.
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

_MONTHS = {
    "Jan": 1, "Feb": 2, "Mar": 3, "Apr": 4, "May": 5, "Jun": 6,
    "Jul": 7, "Aug": 8, "Sep": 9, "Oct": 10, "Nov": 11, "Dec": 12,
}  # fmt: skip
TIME = re.compile(
    r"(?<!\d)(?:(?P<year>\d{4})(?P<separator>[-/.])(?P<month>\d\d)(?P=separator)(?P<day>\d\d)"
    rf"|(?P<first>\d\d?)[-/. ](?P<second>\d\d?|{'|'.join(_MONTHS)})[-/. ](?P<last_year>\d{{4}}))[T :]"
    r"(?P<clock>\d\d:\d\d:\d\d)(?:[,.](?P<fraction>\d{1,9}))?\s?(?P<zone>Z|[+-]\d\d:?\d\d)?"
)
_TIMES = (
    *("@timestamp", "timestamp", "time", "instant", "timeMillis", "ts", "_time", "date", "Timestamp", "eventTime"),
    "__REALTIME_TIMESTAMP",
)  # JSON names of times; the first one present is used

_COLOURS = re.compile(r"\x1b\[[0-9;]*m")

_DEEPEST = 8  # levels of JSON inside JSON

_MOST_LINES, _MOST_CHARACTERS = 500, 1 << 20  # limits of a JSON object over several lines

Moment = tuple[int, bool]  # milliseconds since 1970, and whether the text has a time zone


class Unwrapped(NamedTuple):
    """Line as the broker wrote it, and the time that the collector added."""

    message: str
    outside: Moment | None


def unwrapped(line: str) -> Unwrapped:
    """Return the message nested in JSON or CSV and the time nearest to it; other lines are returned unchanged."""
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
        message_and_time = _within(row)
        if message_and_time is None:
            break
        prefix_time = TIME.search(line[:start])
        message, nearest_time = message_and_time
        outside = nearest_time or (moment(prefix_time) if prefix_time else None) or outside
        line = message.rstrip("\r\n")
    if "\x1b" in line:
        line = _COLOURS.sub("", line)
    if line.endswith('"') and (cell := _cell(line)) is not None:
        outside = outside or next((moment(match) for match in TIME.finditer(line[: line.find(cell[:20])])), None)
        line = cell
    return Unwrapped(line, outside)


def _cell(line: str) -> str | None:
    try:
        cells = next(csv.reader([line], strict=True), [])
    except (csv.Error, UnicodeError):
        return None
    return next((cell for cell in cells if _mark_in(cell) >= 0), None) if len(cells) > 1 else None


def _mark_in(line: str) -> int:
    return max(line.find(MARK), line.find(DENIED))


def _within(value: Any, nearest_time: Moment | None = None, depth: int = 0) -> tuple[str, Moment | None] | None:
    """Return the first string with a marker in a JSON value, and the time nearest to it."""
    if isinstance(value, str):
        return (value, nearest_time) if _mark_in(value) >= 0 else None
    if depth > _DEEPEST or not isinstance(value, dict | list):
        return None
    if isinstance(value, dict):
        nearest_time = next(
            (at for name in _TIMES if (at := json_time(value.get(name), name)) is not None), nearest_time
        )
    for child in value.values() if isinstance(value, dict) else value:
        message_and_time = _within(child, nearest_time, depth + 1)
        if message_and_time is not None:
            return message_and_time
    return None


def json_time(value: Any, name: str = "") -> Moment | None:
    """Return the time of a collector's or log4j's layout: text, seconds to nanoseconds, or an epochSecond object."""
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
    if isinstance(value, str) and (match := TIME.match(value)):
        return moment(match)
    return None


def moment(match: re.Match[str], *, month_first: bool = False) -> Moment:
    """Return the time of a match of TIME.

    Args:
        match: The match.
        month_first: Order of a date that ends with its year and could begin with its day or its month.

    Raises:
        ValueError: The date doesn't exist.
    """
    zone = match["zone"]
    offset = "+00:00" if zone in (None, "Z") else zone
    if match["year"] is not None:
        date = f"{match['year']}-{match['month']}-{match['day']}"
    else:
        day, month = int(match["first"]), _MONTHS.get(match["second"]) or int(match["second"])
        if match["second"].isdecimal() and (month_first if day <= 12 and month <= 12 else month > 12):
            day, month = month, day
        date = f"{match['last_year']}-{month:02}-{day:02}"
    at = datetime.datetime.fromisoformat(f"{date}T{match['clock']}{offset}")
    milliseconds = int((match["fraction"] or "0").ljust(3, "0")[:3])
    return round(at.timestamp()) * 1000 + milliseconds, zone is not None


class Joining:
    """Joiner of JSON objects over several lines; the innermost object that begins on its own line counts."""

    def __init__(self) -> None:
        self._open: list[str] = []
        self._characters = 0

    def lines(self, lines: Iterable[str]) -> Iterator[str]:
        """Yield lines, with each multi-line object as one line. An incomplete object continues with the next call."""
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
