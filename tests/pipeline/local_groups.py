"""Groups straight from silver files, without Spark."""

from __future__ import annotations

from pathlib import Path
from typing import TypeVar

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from kohort.pipeline.arrow_types import rows_of
from kohort.pipeline.history.inputs import GroupInput
from kohort.pipeline.history.silver_input import GroupRows, group_input, log_ends
from kohort.pipeline.silver.parquet_files import Writer, publish
from kohort.pipeline.silver.read_sources import ingest
from kohort.pipeline.silver.silver_rows import (
    CoordinatorMove,
    GroupMember,
    GroupRecord,
    LogRange,
    MemberPartitions,
    ShareStateRecord,
)
from kohort.pipeline.silver.silver_schemas import COLUMNS
from kohort.pipeline.sources.found import find_sources
from kohort.pipeline.sources.source_rows import GroupEvent, LogEndSample, ShareLagSample, TopicName

RowT = TypeVar("RowT")


def silver_table(folder: Path, table: str) -> pa.Table | None:
    place = folder / table
    return pq.read_table(place) if place.is_dir() and any(place.rglob("*.parquet")) else None


def load_groups(folder: Path) -> dict[str, GroupInput]:
    """Load all groups of a silver folder into memory."""
    groups: dict[str, GroupRows] = {}
    partition_of: dict[str, int] = {}

    def of(group_id: str, partition: int | None) -> GroupRows:
        if partition is not None:
            partition_of[group_id] = partition
        return groups.setdefault(group_id, GroupRows())

    for record in _rows(folder, "group_records", GroupRecord):
        of(record.group_id, record.partition).group_records.append(record)
    for member in _rows(folder, "group_members", GroupMember):
        of(member.group_id, member.partition).group_members.append(member)
    for parts in _rows(folder, "member_partitions", MemberPartitions):
        of(parts.group_id, parts.partition).member_partitions.append(parts)
    for state in _rows(folder, "share_states", ShareStateRecord):
        of(state.group_id, None).share_states.append(state)
    for lag in _rows(folder, "share_lags", ShareLagSample):
        of(lag.group_id, None).share_lags.append(lag)
    events = _rows(folder, "events", GroupEvent)
    for event in events:
        if event.group_id is not None:
            of(event.group_id, event.co_partition).events.append(event)
    commits = _commits(folder)
    for group_id, table in commits.items():
        partition_of.setdefault(group_id, table["partition"][0].as_py())
    ends, names = log_ends(_rows(folder, "end_offsets", LogEndSample)), _rows(folder, "topic_names", TopicName)
    ranges, moves = _rows(folder, "log_ranges", LogRange), _rows(folder, "coordinator_moves", CoordinatorMove)
    moves += [
        CoordinatorMove(partition=event.co_partition, ts_ms=event.ts, epoch=event.co_epoch)
        for event in events
        if event.kind == "coordinator_elected" and event.co_epoch and event.co_partition is not None
    ]
    result = {}
    for group_id in sorted(groups.keys() | commits.keys()):
        rows, partition = groups.get(group_id, GroupRows()), partition_of.get(group_id)
        rows.end_offsets, rows.topic_names = ends, names
        rows.log_ranges = [offset_range for offset_range in ranges if offset_range.partition == partition]
        rows.coordinator_moves = [move for move in moves if move.partition == partition]
        rows.until_ms = max((offset_range.last_ts_ms for offset_range in ranges), default=0)
        result[group_id] = group_input(group_id, "", [commits[group_id]] if group_id in commits else [], rows)
    return result


def _commits(folder: Path) -> dict[str, pa.Table]:
    table = silver_table(folder, "offset_commits")
    if table is None:
        return {}
    groups = table["group_id"].unique().to_pylist()
    return {group_id: table.filter(pc.equal(table["group_id"], group_id)) for group_id in groups}


def _rows(folder: Path, table: str, row_type: type[RowT]) -> list[RowT]:
    found = silver_table(folder, table)
    return [] if found is None else rows_of(row_type, COLUMNS[table], found)


def group_from(tmp_path: Path, *sources: Path, name: str = "billing") -> GroupInput:
    """Return a group of these sources."""
    found, issues = find_sources(map(str, sources))
    assert not issues
    with Writer(tmp_path, "0") as writer:
        ingest(found, "", writer)
    publish(tmp_path, "0", [writer.task])
    return load_groups(tmp_path)[name]
