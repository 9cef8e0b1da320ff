"""Silver files. Writing the same batch twice leaves one copy.

A task writes under its own hidden names and reports them; the driver then publishes the files of completed tasks and
removes other files of the batch. Rows go from the worker directly into Parquet: passing them through the JVM would cost
more than the decoding.
"""

from __future__ import annotations

import shutil
import uuid
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from kohort.pipeline.remote_path import Place, PlaceT, for_arrow, rename
from kohort.pipeline.silver.silver_schemas import CODED_COMMITS, SCHEMAS, TEXTS_OF_COMMITS

_ROWS_PER_GROUP = 500_000


def _how(table: str) -> dict[str, Any]:
    """Return how to write a table. With millions of commits each column costs: only useful options are set.

    Slowly growing numbers are delta-encoded, a third of the bytes for less time; row group statistics are kept for the
    columns used in filters.
    """
    how: dict[str, Any] = {"schema": SCHEMAS[table], "compression": "zstd", "compression_level": 1}
    if table != "offset_commits":
        return how
    return how | {
        "schema": CODED_COMMITS,
        "store_schema": False,  # readers get texts
        "use_dictionary": list(TEXTS_OF_COMMITS),
        "column_encoding": dict.fromkeys(
            ("offset", "ts_ms", "committed_offset", "commit_ts_ms"), "DELTA_BINARY_PACKED"
        ),
        "write_statistics": ["partition", "offset", "ts_ms", "group_id"],
    }


@dataclass
class Writer:
    """Files of one task. A `with` block closes them; after an exception none of them is ever published."""

    folder: Place
    batch: str
    task: str = field(default_factory=lambda: uuid.uuid4().hex)
    _open: dict[str, pq.ParquetWriter] = field(default_factory=dict)
    _waiting: dict[str, list[pa.Table]] = field(default_factory=dict)
    rows: dict[str, int] = field(default_factory=dict)

    def add(self, table: str, rows: pa.Table) -> None:
        self.rows[table] = self.rows.get(table, 0) + len(rows)
        waiting = self._waiting.setdefault(table, [])
        waiting.append(rows.cast(CODED_COMMITS) if table == "offset_commits" else rows)
        if sum(map(len, waiting)) >= _ROWS_PER_GROUP:
            self._flush(table)

    def _flush(self, table: str) -> None:
        waiting = self._waiting.pop(table, [])
        if not waiting:
            return
        if table not in self._open:
            path = self.path(table)
            path.parent.mkdir(parents=True, exist_ok=True)
            file_path, system = for_arrow(path)
            self._open[table] = pq.ParquetWriter(file_path, filesystem=system, **_how(table))
        rows = pa.concat_tables(waiting).unify_dictionaries()
        self._open[table].write_table(rows, row_group_size=_ROWS_PER_GROUP)

    def path(self, table: str) -> Place:
        """Return the file for the rows of a table, hidden until it is published."""
        return batch_folder(self.folder, table, self.batch) / f"_{self.task}.parquet"

    def __enter__(self) -> Writer:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            for table in list(self._waiting):
                self._flush(table)
        for writer in self._open.values():
            writer.close()


def batch_folder(folder: PlaceT, table: str, batch: str) -> PlaceT:
    return folder / table / f"batch={batch}"


class UnseenTablesError(RuntimeError):
    """Workers wrote tables that are not visible here; the message contains the fix."""

    def __init__(self, folder: Place) -> None:
        super().__init__(
            f"Spark's workers wrote tables that are not visible here: {folder} must contain the same files on this "
            "machine and on every worker; pass a shared folder with --out"
        )


def publish(folder: PlaceT, batch: str, tasks: list[str]) -> int:
    """Make the files of these tasks the complete content of the batch and return their number.

    Removes earlier attempts.
    """
    count = 0
    for table in SCHEMAS:
        place = batch_folder(folder, table, batch)
        names = {path.name for path in place.glob("*")}
        mine = {f"_{task}.parquet": f"part-{number:05d}.parquet" for number, task in enumerate(tasks)}
        for name in names - mine.keys():
            (place / name).unlink()
        for hidden in (name for name in mine if name in names):
            rename(place / hidden, mine[hidden])
            count += 1
        if names.isdisjoint(mine):
            with suppress(FileNotFoundError):  # most tables have no rows in a batch, and no folder
                place.rmdir()
    return count


def visible_files(folder: PlaceT, table: str, until: int | None = None) -> list[PlaceT]:
    """Return the complete files of a table.

    Args:
        until: Last numbered batch to include; None means all.
    """
    files: list[PlaceT] = list((folder / table).glob("batch=*/part-*.parquet"))
    files.sort(key=lambda path: str(path).split("/"))
    if until is None:
        return files
    numbers = [path.parent.name.partition("=")[2] for path in files]
    return [path for path, number in zip(files, numbers, strict=True) if not number.isdigit() or int(number) <= until]


def row_groups_in(path: Place, columns: list[str] | None = None, coded: list[str] | None = None) -> Iterator[pa.Table]:
    """Yield the rows of one file by row group.

    Args:
        columns: Columns to read; None means all.
        coded: Columns to return as dictionaries.
    """
    file_path, system = for_arrow(path)
    with pq.ParquetFile(file_path, filesystem=system, read_dictionary=coded) as file:
        for number in range(file.num_row_groups):
            yield file.read_row_group(number, columns=columns)


def rows_in(path: Place) -> pa.Table:
    file_path, system = for_arrow(path)
    with pq.ParquetFile(file_path, filesystem=system) as file:
        return file.read()


def written(folder: Place) -> set[str]:
    """Return the tables that have files."""
    return {table for table in SCHEMAS if visible_files(folder, table)}


def forget(folder: Path) -> None:
    """Remove all silver below a folder, before a new batch analysis."""
    for table in SCHEMAS:
        shutil.rmtree(folder / table, ignore_errors=True)
