"""The engine for what one machine does in seconds: this process, no Java, nothing to start.

Commits lie packed in memory until it is their group's turn, everything else as Arrow tables: a group's rows are made
when it is analysed, and gone before the next.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Any, TypeVar

import pyarrow as pa
import pyarrow.compute as pc

from kohort.pipeline.analysis.engine import EventNumbers, RowCounts, SilverFacts, Undecoded
from kohort.pipeline.analysis.group_gold import gold_of_group
from kohort.pipeline.analysis.packed_commits import COMMITS_OF_A_GROUP, TABLE, cut_by_group, pack, places, row_groups
from kohort.pipeline.arrow_types import rows_of
from kohort.pipeline.gold.gold_files import write_tables
from kohort.pipeline.history.silver_input import GroupRows
from kohort.pipeline.remote_path import Place
from kohort.pipeline.silver.parquet_files import Writer, publish, rows_in, shown
from kohort.pipeline.silver.read_sources import ingest, sample
from kohort.pipeline.silver.silver_rows import CoordinatorMove, LogRange
from kohort.pipeline.silver.silver_schemas import COLUMNS, ROW_TYPES, SCHEMAS
from kohort.pipeline.sources.chunk import Issue
from kohort.pipeline.sources.found import Source
from kohort.pipeline.sources.source_rows import LogEndSample, TopicName
from kohort.pipeline.sources.window import EVERYTHING, Window

RowT = TypeVar("RowT")

_OF_A_GROUP = ("group_records", "group_members", "member_partitions", "share_states", "events", "share_lags")
_BATCH = "0"

Group = tuple[str | None, str]
"""Cluster and group id."""


class LocalEngine:
    """Does the work in this process."""

    def ingest(self, sources: list[Source], silver: Place, cluster: str = "", window: Window = EVERYTHING) -> RowCounts:
        with Writer(silver, _BATCH) as writer:
            ingest(sources, cluster, writer, window)
        with Writer(silver, _BATCH) as sampled:
            sample(sources, cluster, sampled)
        publish(silver, _BATCH, [writer.task, sampled.task])
        counts = dict(writer.rows)
        for table, count in sampled.rows.items():
            counts[table] = counts.get(table, 0) + count
        return counts

    def write_gold(self, silver: Place, gold: Place, window: Window = EVERYTHING) -> RowCounts:
        found: dict[str, list[pa.Table]] = {}
        held = _Silver(silver, window)
        for cluster, group_id in held.groups():
            payloads, rows = held.of_group((cluster, group_id))
            for table, gold_rows in gold_of_group(cluster, group_id, payloads, rows).items():
                found.setdefault(table, []).append(gold_rows)
        return write_tables(found, gold)

    def silver_facts(self, silver: Place) -> SilverFacts:
        return SilverFacts(
            issues=_distinct(_rows(silver, "dq_issues", Issue)),
            undecoded=_undecoded(silver),
            ranges=_rows(silver, "log_ranges", LogRange),
            event_numbers=_event_numbers(silver),
        )


class _Silver:
    """All of silver, by group."""

    def __init__(self, silver: Place, window: Window) -> None:
        self._window = window
        self._commits: dict[Group, list[bytes]] = defaultdict(list)
        self._partition: dict[Group, int | None] = {}
        self._topics: dict[Group, set[str]] = defaultdict(set)
        self._read_commits(silver)
        self._tables: dict[str, dict[Group, pa.Table]] = {}
        for table in _OF_A_GROUP:
            self._tables[table] = self._by_group(_table(silver, table), table)
        self._ranges = _by(_with_cluster(silver, "log_ranges", LogRange), "partition")
        self._moves = _by(_moves(silver), "partition")
        self._ends = _by(_with_cluster(silver, "end_offsets", LogEndSample), "topic")
        self._names = _by(_with_cluster(silver, "topic_names", TopicName), "topic_id")
        self._until_ms: dict[str | None, int] = {}
        for (cluster, _), ranges in self._ranges.items():
            self._until_ms[cluster] = max(self._until_ms.get(cluster, 0), *(each.last_ts_ms for each in ranges))

    def groups(self) -> list[Group]:
        """Every group that anything is known of."""
        return sorted(self._partition, key=lambda group: (group[0] or "", group[1]))

    def of_group(self, group: Group) -> tuple[list[bytes], GroupRows]:
        """A group's packed commits, and its other rows."""
        cluster = group[0]
        found = GroupRows(since_ms=self._window.since_ms)
        for table, by_group in self._tables.items():
            if group in by_group:
                setattr(found, table, rows_of(ROW_TYPES[table], COLUMNS[table], by_group[group]))
        partition = self._partition[group]
        found.log_ranges = self._ranges.get((cluster, partition), [])
        found.coordinator_moves = self._moves.get((cluster, partition), [])
        for topic_id in sorted(found.topic_ids):
            found.topic_names += self._names.get((cluster, topic_id), [])
        for topic in sorted(self._topics.get(group, set()) | found.shared_topics | found.streamed_topics):
            found.end_offsets += self._ends.get((cluster, topic), [])
        if cluster in self._until_ms:
            found.until_ms = min(self._until_ms[cluster], self._window.until_ms)
        return self._commits.get(group, []), found

    def _read_commits(self, silver: Place) -> None:
        for path in shown(silver, TABLE):
            for rows in row_groups(path, COMMITS_OF_A_GROUP):
                for packed in pack(rows):
                    for cluster, group_id, payload in zip(*(each.to_pylist() for each in packed.columns), strict=True):
                        if group_id is not None:
                            self._commits[cluster, group_id].append(payload)
                for table in places(rows):
                    for cluster, group_id, partition, topic in zip(
                        *(each.to_pylist() for each in table.columns), strict=True
                    ):
                        if group_id is not None:
                            self._lies_on((cluster, group_id), partition)
                            self._topics[cluster, group_id].add(topic)

    def _by_group(self, rows: pa.Table, table: str) -> dict[Group, pa.Table]:
        cut = cut_by_group(rows, COLUMNS[table])
        if cut is None:
            return {}
        names, tables = cut
        found = {}
        for cluster, group_id, its in zip(*(each.to_pylist() for each in names), tables, strict=True):
            if group_id is None:
                continue
            found[cluster, group_id] = its
            column = _PARTITION_IN.get(table)
            self._lies_on((cluster, group_id), None if column is None else pc.max(its[column]).as_py())
        return found

    def _lies_on(self, group: Group, partition: int | None) -> None:
        """Notes the partition of the offsets topic. Of several the highest counts; None is none."""
        known = self._partition.get(group)
        self._partition[group] = max((each for each in (known, partition) if each is not None), default=None)


_PARTITION_IN = {"group_records": "partition", "events": "co_partition"}
"""The columns that say which partition of the offsets topic a group lies on."""


def _table(silver: Place, table: str) -> pa.Table:
    """All batches of a silver table."""
    schema = SCHEMAS[table]
    tables = [rows_in(path).cast(schema) for path in shown(silver, table)]
    return pa.concat_tables([schema.empty_table(), *tables])


def _rows(silver: Place, table: str, row_type: type[RowT]) -> list[RowT]:
    return rows_of(row_type, COLUMNS[table], _table(silver, table))


def _with_cluster(silver: Place, table: str, row_type: type[RowT]) -> list[tuple[str | None, RowT]]:
    rows = _table(silver, table)
    return list(zip(rows["cluster"].to_pylist(), rows_of(row_type, COLUMNS[table], rows), strict=True))


def _by(rows: Iterable[tuple[str | None, RowT]], column: str) -> dict[tuple[str | None, Any], list[RowT]]:
    found: dict[tuple[str | None, Any], list[RowT]] = defaultdict(list)
    for cluster, row in rows:
        found[cluster, getattr(row, column)].append(row)
    return dict(found)


def _moves(silver: Place) -> Iterator[tuple[str | None, CoordinatorMove]]:
    """Where coordinators moved to, from the log and from what brokers say."""
    yield from _with_cluster(silver, "coordinator_moves", CoordinatorMove)
    events = _table(silver, "events")
    elected = events.filter((pc.field("kind") == "coordinator_elected") & (pc.field("co_epoch") > 0))
    names = ("cluster", "co_partition", "ts", "co_epoch")
    for cluster, partition, ts_ms, epoch in zip(*(elected[name].to_pylist() for name in names), strict=True):
        if partition is not None:
            yield cluster, CoordinatorMove(partition=partition, ts_ms=ts_ms, epoch=epoch)


def _distinct(issues: list[Issue]) -> list[Issue]:
    return list({(each.rule, each.keys, each.detail): each for each in issues}.values())


def _undecoded(silver: Place) -> list[Undecoded]:
    by = ["record_type", "value_version", "error"]
    counted = _table(silver, "decode_errors").group_by(by).aggregate([([], "count_all")])
    return [Undecoded(*row) for row in zip(*(counted[name].to_pylist() for name in (*by, "count_all")), strict=True)]


def _event_numbers(silver: Place) -> list[EventNumbers]:
    events = _table(silver, "events")
    numbered = events.filter((pc.field("origin") == "event_log") & pc.field("seq").is_valid())
    found = numbered.group_by(["node_id", "boot_id"]).aggregate(
        [("seq", "count"), ("seq", "count_distinct"), ("seq", "min"), ("seq", "max")]
    )
    names = ("node_id", "boot_id", "seq_count", "seq_count_distinct", "seq_min", "seq_max")
    rows = zip(*(found[name].to_pylist() for name in names), strict=True)
    return [
        EventNumbers(node, boot, count, distinct, last - first + 1) for node, boot, count, distinct, first, last in rows
    ]
