"""Parquet files as Spark frames, read by Arrow in the workers.

Workers can read every store that this machine can read, without Hadoop's jars, which Spark's own readers need.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

import pyarrow as pa

from kohort.pipeline.remote_path import Place
from kohort.pipeline.session import ROWS_PER_ARROW_BATCH, parallelism
from kohort.pipeline.silver.parquet_files import row_groups_in, visible_files
from kohort.pipeline.silver.silver_schemas import SCHEMAS

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

_TASKS_PER_CORE = 4


def silver_frame(spark: SparkSession, silver: Place, table: str) -> DataFrame:
    """Return all batches of a silver table, or an empty frame with its schema."""
    from pyspark.sql.pandas.types import from_arrow_schema

    schema = SCHEMAS[table]

    def read(path: Place) -> Iterator[pa.RecordBatch]:
        for rows in row_groups_in(path):
            yield from rows.cast(schema).to_batches(ROWS_PER_ARROW_BATCH)

    return over_files(spark, visible_files(silver, table), read, from_arrow_schema(schema))


def over_files(
    spark: SparkSession,
    files: Sequence[Place],
    read: Callable[[Place], Iterator[pa.RecordBatch]],
    kinds: str | StructType,
) -> DataFrame:
    """Apply `read` to each file. Workers must have access to the files."""
    if not files:
        return spark.createDataFrame([], kinds)
    places = list(files)

    def work(numbers: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for numbered in numbers:
            for number in numbered.column(0).to_pylist():
                yield from read(places[number])

    tasks = min(len(places), _TASKS_PER_CORE * parallelism(spark))
    return spark.range(0, len(places), 1, tasks).mapInArrow(work, kinds)
