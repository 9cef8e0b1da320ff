"""Reading of sources to silver, with one Spark task per shard of sources."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pyarrow as pa

from kohort.pipeline.remote_path import Place
from kohort.pipeline.session import parallelism
from kohort.pipeline.silver.parquet_files import UnseenTablesError, Writer, publish
from kohort.pipeline.silver.read_sources import ingest, sample, split
from kohort.pipeline.sources.found import Source
from kohort.pipeline.sources.window import EVERYTHING, Window

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TASKS_PER_CORE = 1


@dataclass
class Read:
    """Row counts by silver table."""

    rows: dict[str, int] = field(default_factory=dict)


def ingest_sources(
    spark: SparkSession,
    sources: list[Source],
    silver: Place,
    batch: str = "0",
    cluster: str = "",
    window: Window = EVERYTHING,
) -> Read:
    """Read all sources into one silver batch, replacing a batch with the same id.

    Raises:
        UnseenTablesError: Workers don't share the folder `silver` with the driver.
    """
    shards = split(sources, parallelism(spark) * TASKS_PER_CORE)

    def work(numbers: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for numbered in numbers:
            for number in numbered.column(0).to_pylist():
                with Writer(silver, batch) as writer:
                    ingest(shards[number], cluster, writer, window)
                tables: list[str | None] = list(writer.rows) or [None]
                yield pa.RecordBatch.from_pydict(
                    {
                        "task": pa.array([writer.task] * len(tables)),
                        "table": pa.array(tables, pa.string()),
                        "rows": pa.array([writer.rows.get(t or "", 0) for t in tables], pa.int64()),
                    }
                )

    with Writer(silver, batch) as sampled:
        sample(sources, cluster, sampled, window)
    numbers = spark.range(0, len(shards), 1, len(shards))
    outcome = numbers.mapInArrow(work, "task string, table string, rows long").collect()
    published = publish(silver, batch, [*dict.fromkeys(row["task"] for row in outcome), sampled.task])
    if published < len(sampled.rows) + sum(row["table"] is not None for row in outcome):
        raise UnseenTablesError(silver)
    read = Read(dict(sampled.rows))
    for row in outcome:
        if row["table"]:
            read.rows[row["table"]] = read.rows.get(row["table"], 0) + row["rows"]
    return read
