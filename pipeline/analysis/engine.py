"""What an engine does: it carries sources to silver, and silver to gold.

`LocalEngine` works in this process and starts at once; `SparkEngine` (in `job/`) works on as many machines as it has.
Both hand the same rows to the same functions, and a test holds their tables equal.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from kohort.pipeline.remote_path import Place
from kohort.pipeline.silver.silver_rows import EventRange, LogRange
from kohort.pipeline.sources.chunk import Issue
from kohort.pipeline.sources.found import (
    DUMP,
    END_OFFSETS,
    EVENTS,
    EXPORT,
    SEGMENT,
    SHARE_SEGMENT,
    SHARE_WIRE,
    TEXT_LOG,
    WIRE,
    Source,
)
from kohort.pipeline.sources.window import EVERYTHING, Window

RowCounts = dict[str, int]
"""Rows by table."""


class Undecoded(NamedTuple):
    """How many records nobody could decode, and why."""

    record_type: int | None
    value_version: int | None
    error: str
    records: int


@dataclass(frozen=True, slots=True)
class SilverFacts:
    """What a person may have to know about silver as a whole."""

    issues: list[Issue]
    undecoded: list[Undecoded]
    ranges: list[LogRange]
    event_ranges: list[EventRange]


class Engine(Protocol):
    """Where the work is done."""

    def ingest(self, sources: list[Source], silver: Place, cluster: str = "", window: Window = EVERYTHING) -> RowCounts:
        """Reads all sources into silver. What can't be read becomes a row of dq_issues."""

    def write_gold(self, silver: Place, gold: Place, window: Window = EVERYTHING) -> RowCounts:
        """Analyses every group of silver, and writes the gold tables. window: the one that silver was read with."""

    def silver_facts(self, silver: Place) -> SilverFacts:
        """What there is to know about silver as a whole."""


LOCAL_RECORDS = 5_000_000
"""Up to about so many records one process is done before Spark would be, which has to start first."""
_BYTES_PER_RECORD = {
    SEGMENT: 90, SHARE_SEGMENT: 200, EXPORT: 250, DUMP: 400, TEXT_LOG: 250, EVENTS: 500, END_OFFSETS: 100
}  # fmt: skip
"""About as many bytes as a record has in the kinds of source; packed files hold more."""
_PACKED = (".gz",)
_TIMES_PACKED = 10


def about_records(sources: Iterable[Source]) -> int:
    """About how many records, events and samples there are."""
    return sum(map(_about, sources))


def _about(source: Source) -> int:
    if source.kind in (WIRE, SHARE_WIRE):
        return source.size
    times = _TIMES_PACKED if source.path.endswith(_PACKED) else 1
    return times * source.size // _BYTES_PER_RECORD.get(source.kind, 100)
