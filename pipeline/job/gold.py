"""Conversion of silver to gold: analyzes each group's rows in the workers."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from kohort.pipeline.analysis.group_gold import gold_of_group
from kohort.pipeline.gold.gold_files import by_day
from kohort.pipeline.job.group_rows import group_rows, silver_by_group
from kohort.pipeline.remote_path import Place
from kohort.pipeline.session import parallelism
from kohort.pipeline.sources.window import EVERYTHING, Window

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_PACKED = "cluster string, group_id string, table string, day string, payload binary"
_ARROW = pa.schema(
    [(name, pa.string()) for name in ("cluster", "group_id", "table", "day")] + [("payload", pa.binary())]
)
# groups differ in size; with several shards per core, a core with small groups takes the next shard
_GROUP_TASKS_PER_CORE = 4


def analyse_groups(
    spark: SparkSession, silver: Place, only: list[str] | None = None, window: Window = EVERYTHING
) -> DataFrame:
    """Return gold as a row for each group, table and day, with the table's rows packed.

    Args:
        spark: Session to use.
        silver: Folder of silver.
        only: Group ids, or None for all.
        window: Window with which silver was read.
    """

    def work(key: tuple[Any, ...], batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        cluster, group_id = (scalar.as_py() for scalar in key)
        payloads, rows = group_rows(batches, window)
        for table, gold in gold_of_group(cluster, group_id, _drain(payloads), rows).items():
            for day, of_day in by_day(gold):
                packed = {
                    "cluster": cluster,
                    "group_id": group_id,
                    "table": table,
                    "day": day,
                    "payload": _pack(of_day),
                }
                yield pa.RecordBatch.from_pylist([packed], _ARROW)

    shards = _GROUP_TASKS_PER_CORE * parallelism(spark)
    by_group = silver_by_group(spark, silver, only).repartition(shards, "cluster", "group_id")
    return by_group.groupBy("cluster", "group_id").applyInArrow(work, _PACKED)


def _drain(payloads: list[bytes]) -> Iterator[bytes]:
    """Yield each payload and release its memory."""
    while payloads:
        yield payloads.pop()


def _pack(rows: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, rows.schema) as stream:
        stream.write_table(rows)
    return bytes(sink.getvalue().to_pybytes())


def unpack_gold(payload: bytes) -> pa.Table:
    return pa.ipc.open_stream(payload).read_all()


def gold_tables(packed: DataFrame, staging: Path) -> Iterator[tuple[str, str, pa.Table]]:
    """Yield group, table name and the rows of one day. Workers write to the folder `staging`, which is removed."""
    packed.write.mode("overwrite").parquet(str(staging))
    for path in sorted(staging.glob("*.parquet")):
        for row in pq.read_table(path).to_pylist():
            yield row["group_id"], row["table"], unpack_gold(row["payload"])
    shutil.rmtree(staging, ignore_errors=True)
