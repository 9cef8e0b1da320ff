"""Makes one batch of many small ones: a stream writes files with every trigger, and thousands of them are slow to read.

Only batches that the stream has committed are rolled: those are never written again. The new batch is there before the
old ones go; `clean` ends what a crash in between has left half done, so that no row counts twice.
"""

from __future__ import annotations

import shutil
import uuid
from pathlib import Path

import pyarrow.parquet as pq

from kohort.pipeline.arrow_types import rows_of
from kohort.pipeline.silver.parquet_files import batch_folder
from kohort.pipeline.silver.ranges import joined
from kohort.pipeline.silver.silver_rows import LogRange
from kohort.pipeline.silver.silver_schemas import COLUMNS, SCHEMAS, table_of

ROLLED = "rolled-"
FEWEST = 20
"""Fewer batches than this are not worth the work."""


def roll(folder: Path, until: int) -> int:
    """Rolls the batches numbered up to `until`; returns how many there were. The latest roll is part of the next."""
    rolled = 0
    for table in SCHEMAS:
        numbered = {number: path for number, path in _numbered(folder, table).items() if number <= until}
        if len(numbered) < FEWEST:
            continue
        sources = [*_rolls(folder, table).values(), *(numbered[number] for number in sorted(numbered))]
        _write(folder, table, sources, max(numbered))
        clean(folder, table)
        rolled = max(rolled, len(numbered))
    return rolled


def clean(folder: Path, only: str | None = None) -> None:
    """Removes batches that a roll holds already, and older rolls."""
    for table in SCHEMAS if only is None else (only,):
        rolls = _rolls(folder, table)
        if not rolls:
            continue
        last = max(rolls)
        for number, path in rolls.items():
            if number < last:
                shutil.rmtree(path)
        for number, path in _numbered(folder, table).items():
            if number <= last:
                shutil.rmtree(path)


def _write(folder: Path, table: str, sources: list[Path], until: int) -> None:
    files = [str(path) for source in sources for path in sorted(source.glob("part-*.parquet"))]
    rows = pq.ParquetDataset(files, schema=SCHEMAS[table], partitioning=None).read()
    if table == "log_ranges":
        cluster = rows["cluster"][0].as_py()
        rank = rows["rank"][0].as_py()
        rows = table_of(table, joined(rows_of(LogRange, COLUMNS[table], rows)), cluster, rank)
    place = batch_folder(folder, table, f"{ROLLED}{until}")
    hidden = place.parent / f"_{uuid.uuid4().hex}"
    hidden.mkdir()
    pq.write_table(rows, hidden / "part-00000.parquet", compression="zstd")
    hidden.rename(place)


def _numbered(folder: Path, table: str) -> dict[int, Path]:
    return _by_number(folder / table, "batch=")


def _rolls(folder: Path, table: str) -> dict[int, Path]:
    return _by_number(folder / table, f"batch={ROLLED}")


def _by_number(folder: Path, prefix: str) -> dict[int, Path]:
    if not folder.is_dir():
        return {}
    found = {path.name.removeprefix(prefix): path for path in folder.iterdir() if path.name.startswith(prefix)}
    return {int(number): path for number, path in found.items() if number.isdigit()}
