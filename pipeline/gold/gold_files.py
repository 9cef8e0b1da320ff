"""Writes gold tables: a file for each day, sorted by group, in as few row groups as there can be.

Beside each moment in milliseconds a file has it as a timestamp, for whoever asks in SQL or draws a picture.
"""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from kohort.pipeline.gold.gold_schemas import MOMENTS

TIMESTAMP = pa.timestamp("ms", "UTC")


def write_tables(found: dict[str, list[pa.Table]], gold: Path) -> dict[str, int]:
    """Writes the tables of all groups by day; a day that is written again is replaced. Gives rows by table.

    Chunks are joined first: Arrow would write a row group for each, and thousands of groups bring a chunk each.
    """
    for table, parts in found.items():
        pq.write_to_dataset(
            _with_timestamps(table, pa.concat_tables(parts).combine_chunks().sort_by("group_id")),
            gold / table,
            partition_cols=["day"],
            basename_template="part-{i}.parquet",
            existing_data_behavior="delete_matching",
            compression="zstd",
        )
    return {table: sum(map(len, parts)) for table, parts in found.items()}


def _with_timestamps(table: str, rows: pa.Table) -> pa.Table:
    for moment, timestamp in MOMENTS[table].items():
        rows = rows.append_column(timestamp, rows[moment].cast(TIMESTAMP))
    return rows
