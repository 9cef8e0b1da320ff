"""Interface of an engine, which converts sources to silver, and silver to gold.

`LocalEngine` works in this process and starts at once; `SparkEngine` (in `job/`) works on all machines of a cluster.
Both pass the same rows to the same functions, and a test compares their tables.
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

RowCounts = dict[str, int]  # number of rows by table


class Undecoded(NamedTuple):
    """Number of records that could not be decoded, with the reason."""

    record_type: int | None
    value_version: int | None
    error: str
    records: int


@dataclass(frozen=True, slots=True)
class SilverFacts:
    """Facts about silver as a whole that the user may need."""

    issues: list[Issue]
    undecoded: list[Undecoded]
    ranges: list[LogRange]
    event_ranges: list[EventRange]


class Engine(Protocol):
    """Executes the steps of an analysis."""

    def ingest(self, sources: list[Source], silver: Place, cluster: str = "", window: Window = EVERYTHING) -> RowCounts:
        """Read all sources into silver. Unreadable input becomes a row of dq_issues."""

    def write_gold(self, silver: Place, gold: Place, window: Window = EVERYTHING) -> RowCounts:
        """Write the gold tables of every group in silver, with the window used for silver."""

    def silver_facts(self, silver: Place) -> SilverFacts:
        pass


LOCAL_RECORDS = 5_000_000  # number of records up to which one process is faster than Spark with its startup
# approximate bytes per record by source type; compressed files contain more
_BYTES_PER_RECORD = {
    SEGMENT: 90, SHARE_SEGMENT: 200, EXPORT: 250, DUMP: 400, TEXT_LOG: 250, EVENTS: 500, END_OFFSETS: 100
}  # fmt: skip
_PACKED = (".gz",)
_TIMES_PACKED = 10


def about_records(sources: Iterable[Source]) -> int:
    """Estimate the number of records, events and samples."""
    return sum(map(_about, sources))


def _about(source: Source) -> int:
    if source.kind in (WIRE, SHARE_WIRE):
        return source.size
    times = _TIMES_PACKED if source.path.endswith(_PACKED) else 1
    return times * source.size // _BYTES_PER_RECORD.get(source.kind, 100)
