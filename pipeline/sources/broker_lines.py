"""Lines of a broker's log, wrapped by any collector: time, broker and the coordinator's message.

Kafka's own layout is `[%d] %p %m (%c)%n`. Container runtimes, kubectl, docker compose and journald put a prefix before
it, operators leave the brackets out or write ISO times; lines wrapped in JSON are unwrapped by unwrapping.py.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from kohort.pipeline.sources.unwrapping import MARK, TIME, Moment, moment, unwrapped

_BODY = re.compile(
    r"\[GroupCoordinator (?:id=)?(?P<node>\d+)(?: topic=__consumer_offsets partition=(?P<partition>\d+))?\]:? "
    r"(?P<text>.*?)(?: \([\w.$]+\)(?: \[[\w.\- ]+\])?)?$"  # a thread name may follow
)
_BROKERS_OWN = re.compile(
    r"(?:INFO|WARN|ERROR|DEBUG|TRACE) .*\((?:kafka|org\.apache\.kafka|state\.change)\."
    r'|"(?:logger|loggerName|logger_name|log\.logger)"\s*:\s*"(?:kafka|org\.apache\.kafka)\.'
)
_QUARTER_MS = 900_000


class BrokerLine(NamedTuple):
    """Log line of a group coordinator."""

    ts_ms: int  # wall clock, milliseconds since 1970; read as UTC if the line has no zone
    node: str
    partition: str | None
    text: str


def broker_line(line: str, *, month_first: bool = False) -> BrokerLine | None:
    """Return the coordinator's line, or None for other lines and lines without a time.

    Args:
        line: Line of a log.
        month_first: Order of dates that end with their year.

    Raises:
        UNREADABLE: A value of the line is invalid.
    """
    message, outside = unwrapped(line)
    at = message.find(MARK)
    if at < 0 or (body := _BODY.match(message, at)) is None:
        return None
    ts_ms = moment_of(message[:at], outside, month_first=month_first)
    if ts_ms is None:
        return None
    return BrokerLine(ts_ms, body["node"], body["partition"], body["text"])


def moment_of(prefix: str, outside: Moment | None, *, month_first: bool = False) -> int | None:
    """Return the time in milliseconds a line was written at, or None for a line without a time.

    Args:
        prefix: Text of the line before its message.
        outside: Time that the collector added, if any.
        month_first: Order of dates that end with their year.
    """
    moments = [moment(match, month_first=month_first) for match in TIME.finditer(prefix)]
    if not moments and outside is None:
        return None
    ts_ms, zoned = moments[-1] if moments else outside or (0, False)
    with_zone_ms = next((ts for ts, with_zone in (*moments, *([outside] if outside else [])) if with_zone), None)
    if not zoned and with_zone_ms is not None:
        # a collector added the time with its zone; zones differ by quarters of an hour
        ts_ms -= round((ts_ms - with_zone_ms) / _QUARTER_MS) * _QUARTER_MS
    return ts_ms


def puts_month_first(lines: Iterable[str]) -> bool | None:
    """Return the order of dates that end with their year, or None if no date has more than 12 in either place."""
    is_ambiguous = False
    for line in lines:
        if (at := line.find(MARK)) < 0:
            continue
        match = TIME.search(line, 0, at)
        if match is None or match["year"] is not None or not match["second"].isdecimal():
            return False
        is_ambiguous, numbers = True, (int(match["first"]), int(match["second"]))
        if max(numbers) > 12:
            return numbers[1] > 12
    return None if is_ambiguous else False


def looks_like_a_brokers(line: str) -> bool:
    return MARK in line or _BROKERS_OWN.search(line) is not None
