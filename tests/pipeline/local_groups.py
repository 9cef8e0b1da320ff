"""Groups straight from silver files, without Spark: for tests, and to look at one group by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from kohort.pipeline.history.inputs import GroupInput
from kohort.pipeline.history.silver_input import group_input

BY_GROUP = ("group_records", "group_members", "member_partitions", "events")


def silver_table(folder: Path, table: str) -> pa.Table | None:
    place = folder / table
    return pq.read_table(place) if place.is_dir() and any(place.rglob("*.parquet")) else None


def load_groups(folder: Path) -> dict[str, GroupInput]:
    """Every group of a silver folder. Everything is held in memory."""
    rows: dict[str, dict[str, list[dict[str, Any]]]] = {}
    partition_of: dict[str, int] = {}
    for table in BY_GROUP:
        found = silver_table(folder, table)
        for row in found.to_pylist() if found is not None else ():
            if row["group_id"] is not None:
                rows.setdefault(row["group_id"], {}).setdefault(table, []).append(row)
                if (partition := row.get("partition", row.get("co_partition"))) is not None:
                    partition_of[row["group_id"]] = partition
    commits = silver_table(folder, "offset_commits")
    by_group: dict[str, pa.Table] = {}
    if commits is not None:
        commits = commits.sort_by("group_id")
        for entry in commits.group_by("group_id").aggregate([([], "count_all")]).to_pylist():
            by_group[entry["group_id"]] = commits.filter(pc.equal(commits["group_id"], entry["group_id"]))
            partition_of.setdefault(entry["group_id"], by_group[entry["group_id"]]["partition"][0].as_py())
    shared = {name: _rows(folder, name) for name in ("end_offsets", "topic_names", "log_ranges", "coordinator_moves")}
    moves = shared["coordinator_moves"] + [
        {"partition": event["co_partition"], "ts_ms": event["ts"], "epoch": event["co_epoch"]}
        for event in _rows(folder, "events")
        if event["kind"] == "coordinator_elected" and event["co_epoch"]
    ]
    groups = {}
    for group_id in sorted(rows.keys() | by_group.keys()):
        mine = rows.get(group_id, {})
        partition = partition_of.get(group_id)
        mine["end_offsets"], mine["topic_names"] = shared["end_offsets"], shared["topic_names"]
        mine["log_ranges"] = [row for row in shared["log_ranges"] if row["partition"] == partition]
        mine["coordinator_moves"] = [row for row in moves if row["partition"] == partition]
        mine["until"] = [{"until_ms": row["last_ts_ms"]} for row in shared["log_ranges"]]
        groups[group_id] = group_input(group_id, "", by_group.get(group_id), mine)
    return groups


def _rows(folder: Path, table: str) -> list[dict[str, Any]]:
    found = silver_table(folder, table)
    return [] if found is None else found.to_pylist()
