"""Makes one batch of many small ones: a stream writes files with every trigger, and thousands of them are slow to read.

Samples of log ends, one of each report, are batches of another kind, numbered by their time. They are rolled likewise.

Only batches that the stream has committed are rolled: those are never written again. The new batch is there before the
old ones go; `clean` ends what a crash in between has left half done, so that no row counts twice.

A roll takes the rolls before it in only where they are not much larger than what is new. So a row is written anew a few
times in all, not at every roll, and there are few files. Row groups pass through memory one at a time.
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
KINDS = {"": "rolled-", SAMPLE: "samples-"}
"""How the names of numbered batches begin, and those of what they are rolled into."""
FEWEST = 20
"""Fewer batches than this are not worth the work."""
MUCH_LARGER = 2
_ROWS_AT_ONCE = 500_000

Span = tuple[int, int]
"""The first and the last number of the batches that a roll holds."""


def roll(folder: Path, until: int) -> int:
    """Rolls the batches numbered up to `until`, and all samples; returns how many batches there were."""
    rolled = 0
    for table in SCHEMAS:
        rolled = max(rolled, _roll(folder, table, "", until))
        _roll(folder, table, SAMPLE, None)
    return rolled


def _roll(folder: Path, table: str, kind: str, until: int | None) -> int:
    found = _numbered(folder, table, kind)
    numbered = {number: path for number, path in found.items() if until is None or number <= until}
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
    """Removes what a roll holds already: batches, and smaller rolls."""
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
    """The rows of all files, some hundred thousand at a time; of the ranges that were read, those that remain."""
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
    """Rows of a batch: bytes of small files are mostly the file itself."""
    return sum(pq.read_metadata(path).num_rows for path in place.glob("part-*.parquet"))


def _numbered(folder: Path, table: str, kind: str) -> dict[int, Path]:
    return {int(name): path for name, path in _by_name(folder / table, f"batch={kind}").items() if name.isdigit()}


def _rolls(folder: Path, table: str, kind: str) -> dict[Span, Path]:
    found = {}
    for name, path in _by_name(folder / table, f"batch={KINDS[kind]}").items():
        first, _, last = name.rpartition("-")  # an earlier release named the last one only, and rolled everything
        if last.isdigit():
            found[int(first or -1), int(last)] = path
    return found


def _by_name(folder: Path, prefix: str) -> dict[str, Path]:
    if not folder.is_dir():
        return {}
    return {path.name.removeprefix(prefix): path for path in folder.iterdir() if path.name.startswith(prefix)}
