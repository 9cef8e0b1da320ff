"""Engine for one machine: this process, without Java.

Commits stay compressed until their group is processed, everything else is in Arrow tables sorted by group. Rows are
converted to objects for several groups at a time, and those of gold to tables by the thousand: a cluster may have tens
of thousands of groups with a few rows each.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

import pyarrow as pa
import pyarrow.compute as pc

from kohort.pipeline.analysis.engine import RowCounts, SilverFacts, Undecoded
from kohort.pipeline.analysis.group_gold import rows_of_group
from kohort.pipeline.analysis.packed_commits import (
    COMMITS_OF_A_GROUP,
    TABLE,
    compress,
    places,
    row_groups,
    sort_by_group,
    unpack,
)
from kohort.pipeline.analysis.worker_processes import WorkerProcesses
from kohort.pipeline.arrow_types import rows_of
from kohort.pipeline.gold.gold_files import write_tables
from kohort.pipeline.gold.group_tables import TableBuilder
from kohort.pipeline.history.commit_pieces import COMMIT_COLUMNS
from kohort.pipeline.history.inputs import GroupInput
from kohort.pipeline.history.silver_input import GroupRows, group_input, log_ends
from kohort.pipeline.remote_path import Place
from kohort.pipeline.silver.parquet_files import Writer, publish, rows_in, visible_files
from kohort.pipeline.silver.read_sources import ingest, sample
from kohort.pipeline.silver.silver_rows import CoordinatorMove, EventRange, LogRange
from kohort.pipeline.silver.silver_schemas import COLUMNS, ROW_TYPES, SCHEMAS
from kohort.pipeline.sources.chunk import Issue
from kohort.pipeline.sources.found import Source
from kohort.pipeline.sources.source_rows import LogEndSample, TopicName
from kohort.pipeline.sources.window import EVERYTHING, Window

RowT = TypeVar("RowT")
ResultT = TypeVar("ResultT")

_OF_A_GROUP = ("group_records", "group_members", "member_partitions", "share_states", "events", "share_lags")
_BATCH = "0"
_ROWS_AT_ONCE = 5_000
_COMMITS_AT_ONCE = 8_000

Group = tuple[str | None, str | None]  # cluster and group id


class LocalEngine:
    """Runs the analysis in this process."""

    def __init__(self) -> None:
        self._workers = WorkerProcesses()

    def ingest(self, sources: list[Source], silver: Place, cluster: str = "", window: Window = EVERYTHING) -> RowCounts:
        with Writer(silver, _BATCH) as writer:
            ingest(sources, cluster, writer, window)
        with Writer(silver, _BATCH) as sampled:
            sample(sources, cluster, sampled, window)
        publish(silver, _BATCH, [writer.task, sampled.task])
        counts = dict(writer.rows)
        for table, count in sampled.rows.items():
            counts[table] = counts.get(table, 0) + count
        return counts

    def write_gold(self, silver: Place, gold: Place, window: Window = EVERYTHING) -> RowCounts:
        held, tables = _Silver(silver, window), TableBuilder()
        for cluster, group_id in held.groups():
            assert group_id is not None, "rows without a group are left out"
            tables.add(*rows_of_group(cluster, group_id, *held.of_group((cluster, group_id))))
        del held  # as large as the tables that are written now
        return write_tables(tables.finish(), gold)

    def silver_facts(self, silver: Place) -> SilverFacts:
        return SilverFacts(
            issues=_distinct(_rows(silver, "dq_issues", Issue)),
            undecoded=_undecoded(silver),
            ranges=_rows(silver, "log_ranges", LogRange),
            event_ranges=_rows(silver, "event_ranges", EventRange),
        )

    def map_groups(
        self, function: Callable[[GroupInput], ResultT], silver: Place, window: Window = EVERYTHING
    ) -> Iterator[ResultT]:
        return map(function, read_groups(silver, window))

    def workers(self) -> WorkerProcesses:
        self._workers = WorkerProcesses()
        return self._workers

    def describe_progress(self) -> str:
        """Return how many calls of the workers have ended, or an empty text."""
        return self._workers.describe_progress()


def read_groups(silver: Place, window: Window = EVERYTHING) -> Iterator[GroupInput]:
    """Return the input of each group's analysis from the tables that `LocalEngine.ingest` has written."""
    tables = _Silver(silver, window)
    for cluster, group_id in tables.groups():
        commits, rows = tables.of_group((cluster, group_id))
        yield group_input(group_id or "", cluster or "", commits, rows)


class _Silver:
    """All of silver by group. Groups must be read in the order of `groups`."""

    def __init__(self, silver: Place, window: Window) -> None:
        self._window = window
        self._partition: dict[Group, int | None] = {}
        self._topics: dict[Group, set[str]] = defaultdict(set)
        self._commits = _Commits()
        self._read_commits(silver)
        self._tables: dict[str, _GroupRows] = {}
        for table in _OF_A_GROUP:
            self._tables[table] = self._by_group(_table(silver, table), table)
        self._ranges = _by(_with_cluster(silver, "log_ranges", LogRange), "partition")
        self._moves = _by(_moves(silver), "partition")
        samples_of = _by(_with_cluster(silver, "end_offsets", LogEndSample), "topic")
        # built once for all groups of a topic, of which there may be many
        self._ends = {topic: log_ends(samples) for topic, samples in samples_of.items()}
        self._names = _by(_with_cluster(silver, "topic_names", TopicName), "topic_id")
        self._until_ms: dict[str | None, int] = {}
        for (cluster, _), ranges in self._ranges.items():
            self._until_ms[cluster] = max(
                self._until_ms.get(cluster, 0), *(log_range.last_ts_ms for log_range in ranges)
            )

    def groups(self) -> list[Group]:
        """Return every group in any table, by cluster and name."""
        return sorted(self._partition, key=lambda group: (group[0] or "", group[1]))

    def of_group(self, group: Group) -> tuple[list[pa.Table], GroupRows]:
        cluster = group[0]
        rows = GroupRows(since_ms=self._window.since_ms)
        for table, by_group in self._tables.items():
            setattr(rows, table, by_group.take(group))
        partition = self._partition[group]
        rows.log_ranges = self._ranges.get((cluster, partition), [])
        rows.coordinator_moves = self._moves.get((cluster, partition), [])
        for topic_id in sorted(rows.topic_ids):
            rows.topic_names += self._names.get((cluster, topic_id), [])
        for topic in sorted(self._topics.get(group, set()) | rows.shared_topics | rows.streamed_topics):
            rows.end_offsets |= self._ends.get((cluster, topic), {})
        if cluster in self._until_ms:
            rows.until_ms = min(self._until_ms[cluster], self._window.until_ms)
        return self._commits.of(group), rows

    def _read_commits(self, silver: Place) -> None:
        for path in visible_files(silver, TABLE):
            for rows in row_groups(path, COMMITS_OF_A_GROUP):
                self._commits.add(rows)
                for table in places(rows):
                    for cluster, group_id, partition, topic in zip(
                        *(column.to_pylist() for column in table.columns), strict=True
                    ):
                        if group_id is not None:
                            self._note_partition((cluster, group_id), partition)
                            self._topics[cluster, group_id].add(topic)

    def _by_group(self, rows: pa.Table, table: str) -> _GroupRows:
        column = _PARTITION_IN.get(table)
        keys = rows.select(["cluster", "group_id", *([column] if column else [])])
        keys = keys.filter(pc.is_valid(keys["group_id"])).group_by(["cluster", "group_id"])
        group_keys = keys.aggregate([(column, "max")] if column else [])
        names = ("cluster", "group_id", *([f"{column}_max"] if column else []))
        for cluster, group_id, *partition in zip(*(group_keys[name].to_pylist() for name in names), strict=True):
            self._note_partition((cluster, group_id), partition[0] if partition else None)
        return _GroupRows(rows, table)

    def _note_partition(self, group: Group, partition: int | None) -> None:
        """Store a group's partition of the offsets topic; the highest one if sources differ."""
        stored = self._partition.get(group)
        self._partition[group] = max((number for number in (stored, partition) if number is not None), default=None)


class _GroupRows:
    """Rows of one table by group.

    Rows of consecutive groups are converted to objects together, by the thousand: the conversion of one row costs about
    as much as that of a hundred.
    """

    def __init__(self, rows: pa.Table, table: str) -> None:
        self._table = table
        self._sorted = sort_by_group(rows, COLUMNS[table])
        groups = [] if self._sorted is None else self._sorted.groups
        self._numbers = {group: number for number, group in enumerate(groups)}
        self._row_lists: dict[int, list[Any]] = {}

    def take(self, group: Group) -> list[Any]:
        """Return and drop a group's rows."""
        number = self._numbers.get(group)
        if number is None:
            return []
        if number not in self._row_lists:
            self._make(number)
        return self._row_lists.pop(number)

    def _make(self, first: int) -> None:
        assert self._sorted is not None, "there is a group"
        starts, ends = self._sorted.starts, self._sorted.ends
        begin = starts[first]
        last = max(first, bisect_right(ends, begin + _ROWS_AT_ONCE) - 1)
        row_objects = rows_of(
            ROW_TYPES[self._table], COLUMNS[self._table], self._sorted.rows.slice(begin, ends[last] - begin)
        )
        self._row_lists = {n: row_objects[starts[n] - begin : ends[n] - begin] for n in range(first, last + 1)}


class _Commits:
    """All commits, compressed, in blocks of consecutive groups. A group with many commits has its own blocks."""

    def __init__(self) -> None:
        self._blocks: list[list[bytes]] = []  # of each piece that was added
        self._places: dict[Group, list[tuple[int, int, int, int]]] = defaultdict(list)  # piece, block, start, length
        self._open: dict[int, tuple[int, pa.Table]] = {}  # the block of each piece that was read last

    def add(self, rows: pa.Table) -> None:
        ordered = sort_by_group(rows, COMMIT_COLUMNS)
        if ordered is None:
            return
        piece, blocks, begin = len(self._blocks), list[bytes](), 0
        for group, start, end in zip(ordered.groups, ordered.starts, ordered.ends, strict=True):
            self._places[group].append((piece, len(blocks), start - begin, end - start))
            if end - begin >= _COMMITS_AT_ONCE or end == len(ordered.rows):
                blocks.append(compress(ordered.rows.slice(begin, end - begin)))
                begin = end
        self._blocks.append(blocks)

    def of(self, group: Group) -> list[pa.Table]:
        return [
            self._block(piece, block).slice(start, length)
            for piece, block, start, length in self._places.get(group, ())
        ]

    def _block(self, piece: int, block: int) -> pa.Table:
        number, rows = self._open.get(piece, (-1, None))
        if number != block:
            (rows,) = unpack([self._blocks[piece][block]])
            self._open[piece] = (block, rows)
        return rows


# columns with a group's partition of the offsets topic
_PARTITION_IN = {"group_records": "partition", "events": "co_partition"}


def _table(silver: Place, table: str) -> pa.Table:
    schema = SCHEMAS[table]
    tables = [rows_in(path).cast(schema) for path in visible_files(silver, table)]
    return pa.concat_tables([schema.empty_table(), *tables])


def _rows(silver: Place, table: str, row_type: type[RowT]) -> list[RowT]:
    return rows_of(row_type, COLUMNS[table], _table(silver, table))


def _with_cluster(silver: Place, table: str, row_type: type[RowT]) -> list[tuple[str | None, RowT]]:
    rows = _table(silver, table)
    return list(zip(rows["cluster"].to_pylist(), rows_of(row_type, COLUMNS[table], rows), strict=True))


def _by(rows: Iterable[tuple[str | None, RowT]], column: str) -> dict[tuple[str | None, Any], list[RowT]]:
    rows_by_key: dict[tuple[str | None, Any], list[RowT]] = defaultdict(list)
    for cluster, row in rows:
        rows_by_key[cluster, getattr(row, column)].append(row)
    return dict(rows_by_key)


def _moves(silver: Place) -> Iterator[tuple[str | None, CoordinatorMove]]:
    """Yield the coordinator moves from the log and from brokers."""
    yield from _with_cluster(silver, "coordinator_moves", CoordinatorMove)
    events = _table(silver, "events")
    elected = events.filter((pc.field("kind") == "coordinator_elected") & (pc.field("co_epoch") > 0))
    names = ("cluster", "co_partition", "ts", "co_epoch")
    for cluster, partition, ts_ms, epoch in zip(*(elected[name].to_pylist() for name in names), strict=True):
        if partition is not None:
            yield cluster, CoordinatorMove(partition=partition, ts_ms=ts_ms, epoch=epoch)


def _distinct(issues: list[Issue]) -> list[Issue]:
    return list({(issue.rule, issue.keys, issue.detail): issue for issue in issues}.values())


def _undecoded(silver: Place) -> list[Undecoded]:
    by = ["record_type", "value_version", "error"]
    counted = _table(silver, "decode_errors").group_by(by).aggregate([([], "count_all")])
    return [Undecoded(*row) for row in zip(*(counted[name].to_pylist() for name in (*by, "count_all")), strict=True)]
