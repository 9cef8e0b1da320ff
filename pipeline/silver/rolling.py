"""Merges many small batches into one: a stream writes files with every trigger, and thousands of them are slow to read.

Samples of log ends, one per report, are separate batches numbered by their time. They are merged in the same way.

Only batches that the stream has committed are merged: those are never written again. The new batch exists before the
old ones are removed; `clean` completes what a crash in between interrupted, so that no row counts twice.

A merge includes earlier merged batches only if they are not much larger than the new ones. So a row is rewritten a few
times in all, not at every merge, and there are few files. Only one row group at a time is in memory.
"""

from __future__ import annotations

import shutil
import uuid
from collections.abc import Iterable
from itertools import product
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from kohort.pipeline.arrow_types import rows_of
from kohort.pipeline.silver.parquet_files import batch_folder
from kohort.pipeline.silver.ranges import joined
from kohort.pipeline.silver.silver_rows import LogRange
from kohort.pipeline.silver.silver_schemas import COLUMNS, SCHEMAS, table_of

SAMPLE = "sample-"
KINDS = {"": "rolled-", SAMPLE: "samples-"}  # name prefixes of numbered batches, and of their merged batches
FEWEST = 20  # minimum number of batches worth merging
MUCH_LARGER = 2
_ROWS_AT_ONCE = 500_000

Span = tuple[int, int]  # first and last batch number of a merged batch


def roll(folder: Path, until: int) -> int:
    """Merge the batches up to number `until`, and all samples; return the number of merged batches."""
    rolled = 0
    for table in SCHEMAS:
        rolled = max(rolled, _roll(folder, table, "", until))
        _roll(folder, table, SAMPLE, None)
    return rolled


def _roll(folder: Path, table: str, kind: str, until: int | None) -> int:
    batches = _numbered(folder, table, kind)
    numbered = {number: path for number, path in batches.items() if until is None or number <= until}
    if len(numbered) < FEWEST:
        return 0
    first, sources = min(numbered), [numbered[number] for number in sorted(numbered)]
    size = sum(map(_size, sources))
    for span, path in sorted(_rolls(folder, table, kind).items(), reverse=True):
        if _size(path) > MUCH_LARGER * size:
            break
        first, sources, size = span[0], [path, *sources], size + _size(path)
    _write(folder, table, sources, f"{KINDS[kind]}{first}-{max(numbered)}")
    clean(folder, table)
    return len(numbered)


def clean(folder: Path, only: str | None = None) -> None:
    """Remove batches and smaller merged batches that a merged batch contains."""
    for table, kind in product(SCHEMAS if only is None else (only,), KINDS):
        rolls = _rolls(folder, table, kind)
        for span, path in rolls.items():
            if any(other != span and other[0] <= span[0] and span[1] <= other[1] for other in rolls):
                shutil.rmtree(path)
        for number, path in _numbered(folder, table, kind).items():
            if any(first <= number <= last for first, last in rolls):
                shutil.rmtree(path)


def _write(folder: Path, table: str, sources: list[Path], name: str) -> None:
    place = batch_folder(folder, table, name)
    hidden = place.parent / f"_{uuid.uuid4().hex}"
    hidden.mkdir()
    files = [path for source in sources for path in sorted(source.glob("part-*.parquet"))]
    with pq.ParquetWriter(hidden / "part-00000.parquet", SCHEMAS[table], compression="zstd") as writer:
        for rows in _portions(table, files):
            writer.write_table(rows)
    hidden.rename(place)


def _portions(table: str, files: list[Path]) -> Iterable[pa.Table]:
    """Yield the rows of all files in chunks of some hundred thousand; of read ranges only the joined ones."""
    if table == "log_ranges":
        rows = pa.concat_tables(pq.read_table(path, schema=SCHEMAS[table], partitioning=None) for path in files)
        cluster, rank = rows["cluster"][0].as_py(), rows["rank"][0].as_py()
        yield table_of(table, joined(rows_of(LogRange, COLUMNS[table], rows)), cluster, rank)
        return
    waiting: list[pa.Table] = []
    for path in files:
        with pq.ParquetFile(path) as file:
            for number in range(file.num_row_groups):
                waiting.append(file.read_row_group(number).cast(SCHEMAS[table]))
                if sum(map(len, waiting)) >= _ROWS_AT_ONCE:
                    yield pa.concat_tables(waiting).combine_chunks()
                    waiting = []
    if waiting:
        yield pa.concat_tables(waiting).combine_chunks()


def _size(place: Path) -> int:
    """Return the number of rows. The bytes of small files are mostly overhead."""
    return sum(pq.read_metadata(path).num_rows for path in place.glob("part-*.parquet"))


def _numbered(folder: Path, table: str, kind: str) -> dict[int, Path]:
    return {int(name): path for name, path in _by_name(folder / table, f"batch={kind}").items() if name.isdigit()}


def _rolls(folder: Path, table: str, kind: str) -> dict[Span, Path]:
    rolls = {}
    for name, path in _by_name(folder / table, f"batch={KINDS[kind]}").items():
        first, _, last = name.rpartition("-")  # an earlier release named the last one only, and rolled everything
        if last.isdigit():
            rolls[int(first or -1), int(last)] = path
    return rolls


def _by_name(folder: Path, prefix: str) -> dict[str, Path]:
    if not folder.is_dir():
        return {}
    return {path.name.removeprefix(prefix): path for path in folder.iterdir() if path.name.startswith(prefix)}
