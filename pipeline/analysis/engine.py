"""Interface of an engine, which converts sources to silver, and silver to gold.

`LocalEngine` works in this process and starts at once; `SparkEngine` (in `job/`) works on all machines of a cluster.
Both pass the same rows to the same functions, and a test compares their tables.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import NamedTuple, Protocol, TypeVar

from kohort.pipeline.history.inputs import GroupInput
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

ItemT = TypeVar("ItemT")
ResultT = TypeVar("ResultT")
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


class Workers(Protocol):
    """Processes or tasks that make calls at the same time."""

    def map(self, function: Callable[[ItemT], ResultT], items: Sequence[ItemT]) -> Iterator[ResultT]:
        """Yield the results in the order of the items. The function, the items and the results are pickled."""


class Engine(Protocol):
    """Executes the steps of an analysis."""

    def ingest(self, sources: list[Source], silver: Place, cluster: str = "", window: Window = EVERYTHING) -> RowCounts:
        """Read all sources into silver. Unreadable input becomes a row of dq_issues."""

    def write_gold(self, silver: Place, gold: Place, window: Window = EVERYTHING) -> RowCounts:
        """Write the gold tables of every group in silver, with the window used for silver."""

    def silver_facts(self, silver: Place) -> SilverFacts:
        pass

    def map_groups(
        self, function: Callable[[GroupInput], ResultT], silver: Place, window: Window = EVERYTHING
    ) -> Iterator[ResultT]:
        """Yield the result for each group in silver, in any order. The function and the results may be pickled."""

    def workers(self) -> AbstractContextManager[Workers]:
        """Return the workers for calls that do not concern silver."""


# Measured costs (docs/explanation/performance-measured.md, "Without Spark"): seconds of one core for a million records,
# and bytes for a record. One group with all records needs the most memory.
_LOCAL_S, _SPARK_S, _SPARK_START_S = 1.3, 3.3, 20
_LOCAL_BYTES, _LOCAL_BASE_BYTES = 128, 256 << 20
_CGROUP_LIMIT = "/sys/fs/cgroup/memory.max"  # of a container; a number of bytes, or "max"
# approximate bytes per record by source type; compressed files contain more
_BYTES_PER_RECORD = {
    SEGMENT: 90, SHARE_SEGMENT: 200, EXPORT: 250, DUMP: 400, TEXT_LOG: 250, EVENTS: 500, END_OFFSETS: 100
}  # fmt: skip
_PACKED = (".gz",)
_TIMES_PACKED = 10


def memory_bytes() -> int:
    """Return the memory of this machine or container."""
    total = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    try:
        with open(_CGROUP_LIMIT) as file:
            return min(total, int(file.read()))
    except (OSError, ValueError):  # no container, or one without a limit
        return total


def local_records(cores: int, memory: int) -> int:
    """Return the number of records up to which one process is faster than Spark on this machine.

    The process may use half of the memory. On one or two cores it is faster for any number, because Spark needs
    more than twice the processor time.

    Args:
        cores: Number of cores that Spark would use.
        memory: In bytes.
    """
    that_fit = max(0, memory // 2 - _LOCAL_BASE_BYTES) // _LOCAL_BYTES
    gain_s = _LOCAL_S - _SPARK_S / cores
    return that_fit if gain_s <= 0 else min(that_fit, round(1_000_000 * _SPARK_START_S / gain_s))


def about_records(sources: Iterable[Source]) -> int:
    """Estimate the number of records, events and samples."""
    return sum(map(_about, sources))


def _about(source: Source) -> int:
    if source.kind in (WIRE, SHARE_WIRE):
        return source.size
    times = _TIMES_PACKED if source.path.endswith(_PACKED) else 1
    return times * source.size // _BYTES_PER_RECORD.get(source.kind, 100)
