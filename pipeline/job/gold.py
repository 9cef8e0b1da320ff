"""Silver to gold: brings each group's rows together, hands them to the analysis of one group, writes what comes back.

Commits travel packed (see `analysis.packed_commits`). Everything else is little, and travels as JSON beside them: one
shuffle is enough.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import functions as F

from kohort.pipeline.analysis.group_gold import gold_of_group
from kohort.pipeline.analysis.packed_commits import TABLE as COMMITS
from kohort.pipeline.gold.gold_files import write_tables
from kohort.pipeline.history.silver_input import GroupRows
from kohort.pipeline.job.commit_frames import commit_places, packed_commits
from kohort.pipeline.session import parallelism
from kohort.pipeline.silver.parquet_files import shown
from kohort.pipeline.silver.silver_schemas import COLUMNS
from kohort.pipeline.silver.silver_schemas import SCHEMAS as SILVER
from kohort.pipeline.sources.window import EVERYTHING, Window

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_BY_GROUP = ("group_records", "group_members", "member_partitions", "events")
_UNTIL = "until"
_COLUMNS = COLUMNS | {_UNTIL: ("until_ms",)}
"""The columns that travel: those that a row of the table has. The group is beside them."""
_RESULT = "cluster string, group_id string, table string, rows long, payload binary"
_GROUP_TASKS_PER_CORE = 4
"""Groups differ in size: more shards than cores, so that a core with small ones takes the next."""


def silver_frame(spark: SparkSession, silver: Path, table: str) -> DataFrame:
    """All batches of a silver table; an empty frame of its schema when there is none."""
    from pyspark.sql.pandas.types import from_arrow_schema

    schema = from_arrow_schema(SILVER[table])
    folder = silver / table
    if not shown(silver, table):
        return spark.createDataFrame([], schema)
    return spark.read.schema(schema).option("recursiveFileLookup", "true").parquet(str(folder))


def groups_of(spark: SparkSession, silver: Path, places: DataFrame) -> DataFrame:
    """(cluster, group_id, partition) of every group that anything is known of; partition null where it isn't known."""
    frames = [places.select("cluster", "group_id", "partition")] + [
        silver_frame(spark, silver, table).select("cluster", "group_id", F.col(column).alias("partition"))
        for table, column in (("group_records", "partition"), ("events", "co_partition"))
    ]
    return (
        reduce(lambda a, b: a.unionByName(b), frames)
        .where("group_id is not null")
        .groupBy("cluster", "group_id")
        .agg(F.max("partition").alias("partition"))
    )


def rows_by_group(spark: SparkSession, silver: Path, places: DataFrame, groups: DataFrame) -> DataFrame:
    """Everything but commits, as (cluster, group_id, table, row in JSON)."""
    frames = [_as_json(silver_frame(spark, silver, table).where("group_id is not null"), table) for table in _BY_GROUP]
    ranges = silver_frame(spark, silver, "log_ranges")
    moves = silver_frame(spark, silver, "coordinator_moves").select("cluster", "partition", "ts_ms", "epoch")
    elected = silver_frame(spark, silver, "events").where("kind = 'coordinator_elected' and co_epoch > 0")
    moves = moves.unionByName(
        elected.select(
            "cluster",
            F.col("co_partition").alias("partition"),
            F.col("ts").alias("ts_ms"),
            F.col("co_epoch").alias("epoch"),
        )
    )
    on_partition = F.broadcast(groups.where("partition is not null"))
    frames.append(_as_json(ranges.join(on_partition, ["cluster", "partition"]), "log_ranges"))
    frames.append(_as_json(moves.join(on_partition, ["cluster", "partition"]), "coordinator_moves"))
    until = ranges.groupBy("cluster").agg(F.max("last_ts_ms").alias("until_ms"))
    frames.append(_as_json(groups.select("cluster", "group_id").join(F.broadcast(until), "cluster"), _UNTIL))
    topics = places.select("cluster", "group_id", "topic").distinct()
    ends = silver_frame(spark, silver, "end_offsets")
    frames.append(_as_json(ends.join(F.broadcast(topics), ["cluster", "topic"]), "end_offsets"))
    ids = silver_frame(spark, silver, "member_partitions").where("topic_id is not null")
    ids = ids.select("cluster", "group_id", "topic_id").distinct()
    names = silver_frame(spark, silver, "topic_names").distinct()
    frames.append(_as_json(ids.join(names, ["cluster", "topic_id"]), "topic_names"))
    return reduce(lambda a, b: a.unionByName(b), frames)


def _as_json(frame: DataFrame, table: str) -> DataFrame:
    rest = [F.col(name) for name in frame.columns if name in _COLUMNS[table]]
    return frame.select("cluster", "group_id", F.lit(table).alias("table"), F.to_json(F.struct(*rest)).alias("row"))


def analyse_arrow(key: tuple[Any, ...], rows: pa.Table, window: Window = EVERYTHING) -> pa.Table:
    """One group, in a worker: its packed commits and its other rows in, its gold tables (packed) out."""
    cluster, group_id = (scalar.as_py() for scalar in key)
    found = GroupRows(since_ms=window.since_ms)
    payloads = []
    for table, text, payload in zip(*(rows[name].to_pylist() for name in ("table", "row", "payload")), strict=True):
        if table == COMMITS:
            payloads.append(payload)
        elif table == _UNTIL:
            found.until_ms = min(json.loads(text)["until_ms"], window.until_ms)
        else:
            found.add(table, json.loads(text))
    packed = []
    for table, gold in gold_of_group(cluster, group_id, payloads, found).items():
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, gold.schema) as stream:
            stream.write_table(gold)
        packed.append((cluster, group_id, table, len(gold), sink.getvalue().to_pybytes()))
    columns: list[Any] = list(zip(*packed, strict=True)) or [[], [], [], [], []]
    kinds = (pa.string(), pa.string(), pa.string(), pa.int64(), pa.binary())
    names = ("cluster", "group_id", "table", "rows", "payload")
    return pa.table({n: pa.array(c, k) for n, c, k in zip(names, columns, kinds, strict=True)})


def analyse_groups(
    spark: SparkSession, silver: Path, only: list[str] | None = None, window: Window = EVERYTHING
) -> DataFrame:
    """The packed gold tables of all groups, or of the ones named. window: the one that silver was read with."""

    def work(key: tuple[Any, ...], rows: pa.Table) -> pa.Table:
        return analyse_arrow(key, rows, window)

    places = commit_places(spark, silver).persist()  # a row for each topic of a group: small, and asked for often
    groups = groups_of(spark, silver, places)
    packed = packed_commits(spark, silver, only).where("group_id is not null")
    every = (
        rows_by_group(spark, silver, places, groups)
        .withColumn("payload", F.lit(None).cast("binary"))
        .unionByName(packed.withColumns({"table": F.lit(COMMITS), "row": F.lit(None).cast("string")}))
    )
    if only is not None:
        every = every.where(F.col("group_id").isin(only))
    shards = _GROUP_TASKS_PER_CORE * parallelism(spark)
    return every.repartition(shards, "cluster", "group_id").groupBy("cluster", "group_id").applyInArrow(work, _RESULT)


def write_gold(packed: DataFrame, gold: Path) -> dict[str, int]:
    """Writes every gold table by day; a day that is written again is replaced. Gives rows by table.

    Gold is small: workers save it packed, and the driver sorts it into its tables.
    """
    found: dict[str, list[pa.Table]] = {}
    for _, table, rows in gold_tables(packed, gold / "_packed"):
        found.setdefault(table, []).append(rows)
    return write_tables(found, gold)


def gold_tables(packed: DataFrame, staging: Path) -> Iterator[tuple[str, str, pa.Table]]:
    """Group, name of the table, and its rows. staging: a folder that workers write to; it goes."""
    packed.write.mode("overwrite").parquet(str(staging))
    for path in sorted(staging.glob("*.parquet")):
        for row in pq.read_table(path).to_pylist():
            yield row["group_id"], row["table"], pa.ipc.open_stream(row["payload"]).read_all()
    shutil.rmtree(staging, ignore_errors=True)
