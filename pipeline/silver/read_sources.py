"""One read task: reads sources and writes their silver files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, islice
from typing import TypeVar

import pyarrow as pa

from kohort.client.security import OPEN, Security
from kohort.pipeline.silver.parquet_files import Writer
from kohort.pipeline.silver.ranges import event_ranges
from kohort.pipeline.silver.record_rows import SilverRows
from kohort.pipeline.silver.share_state_rows import ShareStateRows
from kohort.pipeline.silver.silver_schemas import table_of
from kohort.pipeline.sources import (
    event_lines,
    export,
    found,
    samples,
    segments,
    source_cluster,
    source_share_groups,
    text_log,
)
from kohort.pipeline.sources.chunk import SHARE_STATE_TOPIC, Chunk, Issue
from kohort.pipeline.sources.found import Source
from kohort.pipeline.sources.lines import BROKEN
from kohort.pipeline.sources.source_rows import GroupEvent, LogEndSample, TopicName
from kohort.pipeline.sources.stored import source_file
from kohort.pipeline.sources.window import EVERYTHING, Window
from kohort.pipeline.store_errors import store_error

RowT = TypeVar("RowT")

NOTHING_READ = "nothing_read"  # rule of an issue about a source without any readable content
_ROWS_AT_ONCE = 50_000
_SEGMENTS = (found.SEGMENT, found.SHARE_SEGMENT)
_WIRES = (found.WIRE, found.SHARE_WIRE)


def find_expanded(arguments: Iterable[str], security: Security = OPEN) -> tuple[list[Source], list[Issue]]:
    """Find the sources behind the arguments, as `find_sources` does, with clusters replaced by their partitions."""
    sources, issues = found.find_sources(arguments, security)
    expanded, more_issues = expand(sources)
    return expanded, issues + more_issues


def expand(sources: list[Source]) -> tuple[list[Source], list[Issue]]:
    """Replace clusters by their partitions."""
    result: list[Source] = []
    issues: list[Issue] = []
    for source in sources:
        if source.kind != found.WIRE or source.partition >= 0:
            result.append(source)
            continue
        parts, problems = source_cluster.expand(source)
        result += parts
        issues += problems
    return result, issues


def sample(sources: list[Source], cluster: str, writer: Writer, window: Window = EVERYTHING) -> None:
    """Request log ends, topic names and the lag of share groups from every cluster among the sources."""
    into = _Into(writer, cluster, window)
    clusters = {source.path: source.security for source in sources if source.kind == found.WIRE}
    for address, security in sorted(clusters.items(), key=lambda item: item[0]):
        names: list[TopicName] = []
        ends: list[LogEndSample] = []
        try:
            for row in source_cluster.sample(address, security):
                if isinstance(row, TopicName):
                    names.append(row)
                else:
                    ends.append(row)
        except OSError as error:
            issue_row(Issue("cluster_gone", address, f"cannot request log ends: {error}"), cluster, writer)
        into.add_rows("topic_names", names)
        into.add_rows("end_offsets", ends)
        lags, problems = source_share_groups.sample_share_groups(address, security, window.wants)
        into.add_rows("share_lags", lags)
        into.add_rows("dq_issues", problems)


def split(sources: list[Source], tasks: int) -> list[list[Source]]:
    """Return shards of about equal size; a partition's segment files stay together."""

    def whole(source: Source) -> tuple[str, int, str]:
        return (source.kind, source.partition, "" if source.kind in _SEGMENTS else source.path)

    units = [list(unit) for _, unit in groupby(sorted(sources, key=whole), key=whole)]
    units.sort(key=lambda unit: -sum(source.size for source in unit))
    shards: list[list[Source]] = [[] for _ in range(max(1, min(tasks, len(units))))]
    sizes = [0] * len(shards)
    for unit in units:
        smallest = sizes.index(min(sizes))
        shards[smallest] += unit
        sizes[smallest] += sum(source.size for source in unit) + 1
    return shards


@dataclass(slots=True)
class _Into:
    """Writer of a task that filters by time window.

    Attributes:
        understood: Number of rows from sources, including those outside the window. Issues don't count.
    """

    writer: Writer
    cluster: str
    window: Window
    understood: int = 0

    def add(self, table: str, rows: pa.Table) -> None:
        self.understood += len(rows) if table != "dq_issues" else 0
        inside = rows if self.window.is_everything else self.window.rows(table, rows)
        if len(inside):
            self.writer.add(table, inside)

    def add_rows(self, table: str, rows: Sequence[object]) -> None:
        if rows:
            self.add(table, table_of(table, rows, self.cluster))


def ingest(sources: list[Source], cluster: str, writer: Writer, window: Window = EVERYTHING) -> None:
    """Read the sources into the writer. Unreadable input becomes a row of dq_issues; nothing is raised for it."""
    into = _Into(writer, cluster, window)
    for kind, group in groupby(sorted(sources, key=lambda s: (s.kind, s.partition)), key=lambda s: s.kind):
        of_kind = list(group)
        if kind in _SEGMENTS:
            read = _log_records if kind == found.SEGMENT else _share_states
            for partition, files in groupby(of_kind, key=lambda s: s.partition):
                paths = [source_file(source.path) for source in files]
                read(segments.read_partition(partition, paths), of_kind[0].rank, into)
        else:
            for source in of_kind:
                rows_before = into.understood
                _one(source, into)
                if into.understood == rows_before and kind not in _WIRES:
                    text = "nothing in it was understood: no line or record is about a group"
                    if kind == found.TEXT_LOG:
                        text = text_log.why_nothing(source_file(source.path))
                    issue_row(Issue(NOTHING_READ, source.path, text), cluster, writer)


def _one(source: Source, into: _Into) -> None:
    path = source_file(source.path)
    try:
        if source.kind == found.EXPORT:
            _log_records(export.read_export(path), source.rank, into)
        elif source.kind == found.DUMP:
            _log_records(export.read_dump(path), source.rank, into)
        elif source.kind == found.WIRE:
            records = source_cluster.read_wire(source.path, source.partition, source.security)
            _log_records(records, source.rank, into, source.asked_ms)
        elif source.kind == found.SHARE_WIRE:
            states = source_cluster.read_wire(source.path, source.partition, source.security, SHARE_STATE_TOPIC)
            _share_states(states, source.rank, into)
        elif source.kind == found.TEXT_LOG:
            _events(text_log.read_text_log(path), into)
        elif source.kind == found.EVENTS:
            _events(event_lines.read_event_log(path), into)
        elif source.kind == found.END_OFFSETS:
            _rows("end_offsets", samples.read_end_offsets(path), into)
        elif source.kind == found.TOPICS:
            _rows("topic_names", samples.read_topics(path), into)
    except BROKEN as error:
        text = store_error(str(error)) or getattr(error, "strerror", None) or str(error)
        issue_row(Issue("unreadable_file", source.path, text), into.cluster, into.writer)


def _log_records(chunks: Iterator[Chunk], rank: int, into: _Into, read_at_ms: int = 0) -> None:
    silver = SilverRows(into.cluster, rank, into.window)
    for chunk in chunks:
        for table, rows in silver.add(chunk):
            into.add(table, rows)
    for table, rows in silver.finish(read_at_ms):
        into.add(table, rows)


def _share_states(chunks: Iterator[Chunk], rank: int, into: _Into) -> None:
    silver = ShareStateRows(into.cluster, rank, into.window)
    for chunk in chunks:
        for table, rows in silver.add(chunk):
            into.add(table, rows)


def _events(events: Iterator[GroupEvent | Issue], into: _Into) -> None:
    for portion in _portions(events, into):
        into.add_rows("events", portion)
        # Events of other groups are counted, too: without them those of the chosen groups seem to have gaps.
        timely = (event for event in portion if into.window.is_timely(event.ts))
        into.add_rows("event_ranges", event_ranges(timely))


def _rows(table: str, rows: Iterator[object | Issue], into: _Into) -> None:
    for portion in _portions(rows, into):
        into.add_rows(table, portion)


def _portions(rows: Iterator[RowT | Issue], into: _Into) -> Iterator[list[RowT]]:
    """Yield rows in chunks and write the issues among them."""
    while portion := list(islice(rows, _ROWS_AT_ONCE)):
        for row in portion:
            if isinstance(row, Issue):
                issue_row(row, into.cluster, into.writer)
        yield [row for row in portion if not isinstance(row, Issue)]


def issue_row(issue: Issue, cluster: str, writer: Writer) -> None:
    writer.add("dq_issues", table_of("dq_issues", [issue], cluster))
