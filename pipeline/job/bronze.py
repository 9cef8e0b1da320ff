"""Conversion of raw records in a Spark frame to silver, read from Parquet or by Spark's own Kafka connector."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from kohort.pipeline.job.ingest import Read
from kohort.pipeline.records.offset_commits import spans_of
from kohort.pipeline.silver.parquet_files import Writer, publish
from kohort.pipeline.silver.record_rows import SilverRows
from kohort.pipeline.sources.chunk import Chunk, gaps

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

COLUMNS = ("partition", "offset", "ts_ms", "key", "value")


def chunk_of_arrow(batch: pa.RecordBatch) -> Chunk:
    """Make a chunk in log order from the columns partition, offset, ts_ms, key and value, without transactions."""
    partition, offset = (
        batch.column(name).to_numpy(zero_copy_only=False).astype(np.int64) for name in ("partition", "offset")
    )
    order = np.lexsort((offset, partition))
    if not (np.diff(order) == 1).all():
        batch = batch.take(pa.array(order))
        partition, offset = partition[order], offset[order]
    return Chunk(
        spans_of(batch.column("key"), batch.column("value")),
        partition,
        offset,
        batch.column("ts_ms").to_numpy(zero_copy_only=False).astype(np.int64),
        np.full(len(offset), -1, np.int64),
        np.zeros(len(offset), np.int64),
        gaps(partition, offset),
    )


def silver_from_records(frame: DataFrame, silver: Path, batch: str, cluster: str = "", rank: int = 0) -> Read:
    """Decode a frame of records into one silver batch, replacing a batch with the same id."""
    folder = str(silver)

    def work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        with Writer(Path(folder), batch) as writer:
            rows = SilverRows(cluster, rank)
            for records in batches:
                for table, table_rows in rows.add(chunk_of_arrow(records)):
                    writer.add(table, table_rows)
            for table, table_rows in rows.finish():
                writer.add(table, table_rows)
        names = list(writer.rows) or [""]
        yield pa.RecordBatch.from_pydict(
            {
                "task": pa.array([writer.task] * len(names)),
                "table": pa.array(names),
                "rows": pa.array([writer.rows.get(name, 0) for name in names], pa.int64()),
            }
        )

    outcome = frame.select(*COLUMNS).mapInArrow(work, "task string, table string, rows long").collect()
    publish(silver, batch, list(dict.fromkeys(row["task"] for row in outcome)))
    read = Read()
    for row in outcome:
        if row["table"]:
            read.rows[row["table"]] = read.rows.get(row["table"], 0) + row["rows"]
    return read
