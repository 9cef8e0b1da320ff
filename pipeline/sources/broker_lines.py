"""A broker's log line, in whatever it was wrapped on its way: when it was written, by which broker, and what it says.

Kafka's own layout is `[%d] %p %m (%c)%n`. Container runtimes, kubectl, docker compose and journald put a prefix before
it, operators leave the brackets out or write ISO times, log4j's JSON layouts and docker's log files wrap the whole.
"""

from __future__ import annotations

import datetime
import json
import re
from typing import Any, NamedTuple

from kohort.pipeline.sources.checked import UNREADABLE

MARK = "[GroupCoordinator"
_TIME = re.compile(
    r"(?P<day>\d{4}-\d\d-\d\d)[T ](?P<clock>\d\d:\d\d:\d\d)(?:[,.](?P<fraction>\d{1,9}))?\s?(?P<zone>Z|[+-]\d\d:?\d\d)?"
)
_BODY = re.compile(
    r"\[GroupCoordinator (?:id=)?(?P<node>\d+)(?: topic=__consumer_offsets partition=(?P<partition>\d+))?\]:? "
    r"(?P<text>.*?)(?: \([\w.$]+\))?(?: \[[\w.\- ]+\])?$"
)
_BROKERS_OWN = re.compile(
    r"(?:INFO|WARN|ERROR|DEBUG|TRACE) .*\((?:kafka|org\.apache\.kafka|state\.change)\."
    r'|"(?:logger|loggerName|logger_name|log\.logger)"\s*:\s*"(?:kafka|org\.apache\.kafka)\.'
)
_MESSAGES, _TIMES = ("message", "log", "msg"), ("@timestamp", "timestamp", "time", "instant", "timeMillis", "ts")
_QUARTER_MS = 900_000


class BrokerLine(NamedTuple):
    """ts_ms: wall clock, milliseconds; of a time without a zone, as if it were UTC, where nothing on the line tells.

    zoned: the line says which time it is. node, partition: as they stand there. text: what the coordinator says.
    """

    ts_ms: int
    zoned: bool
    node: str
    partition: str | None
    text: str


def broker_line(line: str) -> BrokerLine | None:
    """A line of the group coordinator's; None: another one, or one without a time. Raises what UNREADABLE names."""
    found, outside = unwrapped(line)
    at = found.find(MARK)
    if at < 0 or (body := _BODY.match(found, at)) is None:
        return None
    moment = moment_of(found[:at], outside)
    if moment is None:
        return None
    return BrokerLine(*moment, body["node"], body["partition"], body["text"])


def moment_of(before: str, outside: tuple[int, bool] | None) -> tuple[int, bool] | None:
    """When a line was written, and whether it says in which zone; `before`: what stands before its message."""
    moments = [_moment(each) for each in _TIME.finditer(before)]
    if not moments and outside is None:
        return None
    ts_ms, zoned = moments[-1] if moments else outside or (0, False)
    known = next((ts for ts, with_zone in (*moments, *([outside] if outside else [])) if with_zone), None)
    if not zoned and known is not None:  # somebody on the way wrote the time with its zone
        ts_ms -= round((ts_ms - known) / _QUARTER_MS) * _QUARTER_MS
    return ts_ms, zoned or known is not None


def looks_like_a_brokers(line: str) -> bool:
    """Whether a line is from a Kafka broker's log, whatever it is about."""
    return MARK in line or _BROKERS_OWN.search(line) is not None


def unwrapped(line: str) -> tuple[str, tuple[int, bool] | None]:
    """The message within a line of JSON, and the time that stands beside it; any other line as it is."""
    if not line.startswith("{"):
        return line, None
    try:
        row = json.loads(line)
    except UNREADABLE:
        return line, None
    message = next((row[name] for name in _MESSAGES if isinstance(row.get(name), str)), "")
    return message.rstrip("\r\n"), next((at for name in _TIMES if (at := _json_time(row.get(name))) is not None), None)


def _json_time(value: Any) -> tuple[int, bool] | None:
    """A time as log4j's layouts write it: text, milliseconds, or seconds and nanoseconds."""
    if isinstance(value, dict):
        seconds, nanos = value.get("epochSecond"), value.get("nanoOfSecond", 0)
        if not isinstance(seconds, int) or not isinstance(nanos, int):
            return None
        return seconds * 1000 + nanos // 1_000_000, True
    if isinstance(value, int | float) and not isinstance(value, bool):
        return round(value if value > 1e11 else value * 1000), True
    if isinstance(value, str) and (found := _TIME.match(value)):
        return _moment(found)
    return None


def _moment(found: re.Match[str]) -> tuple[int, bool]:
    zone = found["zone"]
    offset = "+00:00" if zone in (None, "Z") else zone
    moment = datetime.datetime.fromisoformat(f"{found['day']}T{found['clock']}{offset}")
    milliseconds = int((found["fraction"] or "0").ljust(3, "0")[:3])
    return round(moment.timestamp()) * 1000 + milliseconds, zone is not None
