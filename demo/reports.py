"""What processes of the demo report to their parent: a line of JSON each, over a pipe.

Times are `time.monotonic()`, which is one clock for all processes of a machine.
"""

from __future__ import annotations

import json
from typing import NamedTuple

Range = tuple[int, int, int]
"""Partition, first offset, last offset."""


class Ready(NamedTuple):
    """The library is loaded; the consumer waits for the order to join."""


class Owns(NamedTuple):
    """The library has called its user about partitions that are now theirs; cooperative ones: about new ones."""

    at: float
    partitions: list[int]


class Revoked(NamedTuple):
    """The library has called its user to let go of partitions."""

    at: float
    partitions: list[int]


class Working(NamedTuple):
    """A batch is in hand that will take long."""

    at: float
    seconds: float


class Consumed(NamedTuple):
    """Records have been processed; as who and in which generation the client believes itself to be."""

    at: float
    generation: int
    member_id: str
    ranges: list[Range]


class Produced(NamedTuple):
    """The broker has acknowledged records."""

    at: float
    ranges: list[Range]


class Wrong(NamedTuple):
    """Something that must not be: a record at another offset than it was produced to, a record refused."""

    text: str


class Closed(NamedTuple):
    """The client has been closed properly; the process ends."""


Report = Ready | Owns | Revoked | Working | Consumed | Produced | Wrong | Closed

_KINDS: dict[str, type[Report]] = {
    kind.__name__: kind for kind in (Ready, Owns, Revoked, Working, Consumed, Produced, Wrong, Closed)
}


def write(report: Report) -> bytes:
    """A report as one line."""
    return json.dumps([type(report).__name__, *report]).encode() + b"\n"


def read(line: bytes) -> Report:
    """The report that a line holds."""
    name, *values = json.loads(line)
    return _KINDS[name](*values)


def ranges_of(offsets: list[tuple[int, int]]) -> list[Range]:
    """Partitions and offsets, in the order of arrival, as ranges without holes."""
    ranges: dict[int, list[Range]] = {}
    for partition, offset in offsets:
        known = ranges.setdefault(partition, [])
        if known and known[-1][2] == offset - 1:
            known[-1] = (partition, known[-1][1], offset)
        else:
            known.append((partition, offset, offset))
    return [each for known in ranges.values() for each in known]
