"""A broker's log line, in whatever it was wrapped on its way: when it was written, by which broker, and what it says.

Kafka's own layout is `[%d] %p %m (%c)%n`. Container runtimes, kubectl, docker compose and journald put a prefix before
it, operators leave the brackets out or write ISO times; what is wrapped in JSON comes out of unwrapping.py.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from kohort.pipeline.sources.unwrapping import MARK, TIME, Moment, moment, unwrapped

_BODY = re.compile(
    r"\[GroupCoordinator (?:id=)?(?P<node>\d+)(?: topic=__consumer_offsets partition=(?P<partition>\d+))?\]:? "
    r"(?P<text>.*?)(?: \([\w.$]+\)(?: \[[\w.\- ]+\])?)?$"  # a thread behind the logger: a list of members is none
)
_BROKERS_OWN = re.compile(
    r"(?:INFO|WARN|ERROR|DEBUG|TRACE) .*\((?:kafka|org\.apache\.kafka|state\.change)\."
    r'|"(?:logger|loggerName|logger_name|log\.logger)"\s*:\s*"(?:kafka|org\.apache\.kafka)\.'
)
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
    written = moment_of(found[:at], outside)
    if written is None:
        return None
    return BrokerLine(*written, body["node"], body["partition"], body["text"])


def moment_of(before: str, outside: Moment | None) -> Moment | None:
    """When a line was written, and whether it says in which zone; `before`: what stands before its message."""
    moments = [moment(each) for each in TIME.finditer(before)]
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
