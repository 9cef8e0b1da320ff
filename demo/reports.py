"""Reports of the demo's processes to their parent: a line of JSON each, over a pipe.

Times are `time.monotonic()`, which is one clock for all processes of a machine.
"""

from __future__ import annotations

import json
from typing import NamedTuple

Range = tuple[int, int, int]  # partition, first offset, last offset


class Ready(NamedTuple):
    """The library is imported; the consumer waits for the order to join."""


class Owns(NamedTuple):
    """The library has called back with assigned partitions; cooperative ones: with new ones."""

    at: float
    partitions: list[int]


class Revoked(NamedTuple):
    """The library has called back with revoked partitions."""

    at: float
    partitions: list[int]


class Working(NamedTuple):
    """A slow batch is being processed."""

    at: float
    seconds: float


class Consumed(NamedTuple):
    """Records were processed; member and generation are those that the client reports."""

    at: float
    generation: int
    member_id: str
    ranges: list[Range]


class Produced(NamedTuple):
    """The broker has acknowledged records."""

    at: float
    ranges: list[Range]


class Wrong(NamedTuple):
    """A violation: a record at another offset than it was produced to, or a rejected record."""

    text: str


class Closed(NamedTuple):
    """The client was closed; the process ends."""


Report = Ready | Owns | Revoked | Working | Consumed | Produced | Wrong | Closed

_KINDS: dict[str, type[Report]] = {
    kind.__name__: kind for kind in (Ready, Owns, Revoked, Working, Consumed, Produced, Wrong, Closed)
}


def write(report: Report) -> bytes:
    return json.dumps([type(report).__name__, *report]).encode() + b"\n"


def read(line: bytes) -> Report:
    name, *values = json.loads(line)
    return _KINDS[name](*values)


def ranges_of(offsets: list[tuple[int, int]]) -> list[Range]:
    """Merge partitions and offsets, in the order of arrival, to ranges without holes."""
    ranges: dict[int, list[Range]] = {}
    for partition, offset in offsets:
        merged = ranges.setdefault(partition, [])
        if merged and merged[-1][2] == offset - 1:
            merged[-1] = (partition, merged[-1][1], offset)
        else:
            merged.append((partition, offset, offset))
    return [entry for merged in ranges.values() for entry in merged]
