"""Commits on their way from silver to the analysis of their group.

They are most of what there is, a thousand times the rest. A worker reads whole files of them, sorts them by group and
hands each group's on as one value: Spark then shuffles a few hundred values, where it would have sorted millions of
rows and carried each of their columns through two processes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from kohort.pipeline.history.silver_input import COMMIT_COLUMNS
from kohort.pipeline.session import parallelism
from kohort.pipeline.silver.parquet_files import shown
from kohort.pipeline.silver.silver_schemas import SCHEMAS

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_PLACES = ("cluster", "group_id", "partition", "topic")
_TEXTS = ("cluster", "group_id", "topic", "txn")
TABLE = "offset_commits"


def commit_places(spark: SparkSession, silver: Path) -> DataFrame:
    """(cluster, group_id, partition, topic) of everything that was ever committed."""

    def places(table: pa.Table) -> Iterator[pa.Table]:
        yield table.group_by(list(_PLACES)).aggregate([])

    kinds = "cluster string, group_id string, partition int, topic string"
    return _over_files(spark, silver, _PLACES, places, kinds).distinct()


def packed_commits(spark: SparkSession, silver: Path) -> DataFrame:
    """(cluster, group_id, payload): commits of one group from one stretch of a file, for `unpack`."""
    return _over_files(
        spark,
        silver,
        ("cluster", "group_id", *COMMIT_COLUMNS),
        pack,
        "cluster string, group_id string, payload binary",
    )


def pack(table: pa.Table) -> Iterator[pa.Table]:
    """One row for each group in the table."""
    table = table.combine_chunks()
    if not len(table):
        return
    cluster, group = (_encoded(table[name]) for name in ("cluster", "group_id"))
    code = _codes(cluster) * (len(group.dictionary) + 1) + _codes(group)
    order = np.argsort(code, kind="stable")
    edges = np.flatnonzero(np.diff(code[order])) + 1
    table = table.select(list(COMMIT_COLUMNS)).take(pa.array(order))
    starts = [0, *edges.tolist()]
    lengths = np.diff([*starts, len(order)]).tolist()
    payloads = [_written(table.slice(start, length)) for start, length in zip(starts, lengths, strict=True)]
    firsts = pa.array(order[starts])
    names = [column.take(firsts).cast(pa.string()) for column in (cluster, group)]
    yield pa.table([*names, pa.array(payloads, pa.binary())], ["cluster", "group_id", "payload"])


def unpack(payloads: Iterable[bytes]) -> pa.Table | None:
    """A group's commits; None when there are none."""
    schema = pa.schema([SCHEMAS[TABLE].field(name) for name in COMMIT_COLUMNS])
    tables = [pa.ipc.open_stream(payload).read_all().cast(schema) for payload in payloads]
    return pa.concat_tables(tables) if tables else None


def _written(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema, options=pa.ipc.IpcWriteOptions(compression="lz4")) as stream:
        stream.write_table(table)
    return bytes(sink.getvalue().to_pybytes())


def _encoded(column: pa.ChunkedArray) -> pa.DictionaryArray:
    whole = column.combine_chunks()
    return whole.chunk(0) if isinstance(whole, pa.ChunkedArray) else whole


def _codes(column: pa.DictionaryArray) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Numbers for the texts of a column; 0 for null."""
    found: np.ndarray[tuple[int], np.dtype[np.int64]] = column.indices.fill_null(-1).to_numpy().astype(np.int64) + 1
    return found


def _over_files(
    spark: SparkSession,
    silver: Path,
    columns: tuple[str, ...],
    work: Callable[[pa.Table], Iterator[pa.Table]],
    kinds: str,
) -> DataFrame:
    """Applies `work` to every row group of the commits of silver, texts as dictionaries. Workers must see `silver`."""
    paths = [str(path) for path in shown(silver, TABLE)]
    texts = [name for name in _TEXTS if name in columns]
    if not paths:
        return spark.createDataFrame([], kinds)

    def run(numbers: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for numbered in numbers:
            for number in numbered.column(0).to_pylist():
                with pq.ParquetFile(paths[number], read_dictionary=texts) as file:
                    for group in range(file.num_row_groups):
                        for table in work(file.read_row_group(group, columns=list(columns))):
                            plain = [table[n].cast(pa.string()) if n in texts else table[n] for n in table.column_names]
                            yield from pa.table(plain, table.column_names).to_batches()

    tasks = min(len(paths), 4 * parallelism(spark))
    return spark.range(0, len(paths), 1, tasks).mapInArrow(run, kinds)
