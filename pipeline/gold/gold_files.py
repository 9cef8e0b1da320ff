"""Writer of gold tables: one file per day, sorted by group, in as few row groups as possible.

For each time in milliseconds a file also has a timestamp column, for SQL and charts.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.parquet as pq

from kohort.pipeline.gold.gold_schemas import MOMENTS, SCHEMAS
from kohort.pipeline.remote_path import Place, for_arrow

TIMESTAMP = pa.timestamp("ms", "UTC")
FILE = "part-0.parquet"
_ROWS_PER_GROUP = 1 << 20


class DayFile:
    """File of one table and day, written while rows arrive; rows must be ordered by group.

    Rows are buffered until they fill a row group: thousands of groups have a few rows each. A `with` block completes
    the file.
    """

    def __init__(self, gold: Place, table: str, day: str, name: str = FILE) -> None:
        self._table, self._folder, self._name = table, day_folder(gold, table, day), name
        self._writer: pq.ParquetWriter | None = None
        self._waiting: list[pa.Table] = []
        self.rows = 0

    def add(self, rows: pa.Table) -> None:
        """Add rows of this day in the table's schema."""
        self._waiting.append(rows)
        self.rows += len(rows)
        if sum(map(len, self._waiting)) >= _ROWS_PER_GROUP:
            self._flush()

    def _flush(self) -> None:
        if not self._waiting:
            return
        rows = _with_timestamps(self._table, pa.concat_tables(self._waiting).combine_chunks().drop_columns("day"))
        self._waiting = []
        if self._writer is None:
            self._folder.mkdir(parents=True, exist_ok=True)
            path, system = for_arrow(self._folder / self._name)
            self._writer = pq.ParquetWriter(path, rows.schema, filesystem=system, compression="zstd")
        self._writer.write_table(rows, row_group_size=_ROWS_PER_GROUP)

    def __enter__(self) -> DayFile:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            self._flush()
        if self._writer is not None:
            self._writer.close()


def day_folder(gold: Place, table: str, day: str) -> Place:
    return gold / table / f"day={day}"


def write_tables(tables: dict[str, list[pa.Table]], gold: Place) -> dict[str, int]:
    """Write the tables of all groups by day and return the number of rows by table.

    A day that is written again is replaced. Tables are removed from `tables` one after the other, so that their memory
    is free when they are written.
    """
    counts = {}
    for table in list(tables):
        rows_of_table = pa.concat_tables(tables.pop(table)).combine_chunks().sort_by("group_id")
        counts[table] = len(rows_of_table)
        for day, rows in by_day(rows_of_table):
            with DayFile(gold, table, day) as file:
                file.add(rows)
    return counts


def by_day(rows: pa.Table) -> Iterator[tuple[str, pa.Table]]:
    ordered, start = rows.sort_by("day"), 0  # which is stable
    for run in pc.value_counts(ordered["day"]).to_pylist():
        yield run["values"], ordered.slice(start, run["counts"])
        start += run["counts"]


def read_table(gold: Place, table: str, columns: list[str] | None = None, only: Any = None) -> pa.Table | None:
    """Return a gold table's rows without the added timestamps, or None if the table wasn't written.

    Args:
        only: Filter expression over columns.
    """
    files = sorted(for_arrow(file)[0] for file in (gold / table).glob("day=*/[!._]*.parquet"))
    if not files:
        return None
    dataset = ds.dataset(files, schema=SCHEMAS[table], partitioning="hive", filesystem=for_arrow(gold)[1])
    return dataset.to_table(columns=columns, filter=only)


def _with_timestamps(table: str, rows: pa.Table) -> pa.Table:
    for moment, timestamp in MOMENTS[table].items():
        rows = rows.append_column(timestamp, rows[moment].cast(TIMESTAMP))
    return rows
