"""Rows of silver by group for one shuffle: a row of a table is a struct in the column of that table.

Commits are packed in a column of their own (see `analysis.packed_commits`). The worker converts the columns to tables.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql import functions as F

from kohort.pipeline.arrow_types import rows_of
from kohort.pipeline.history.silver_input import GroupRows, log_ends
from kohort.pipeline.job.commit_frames import commit_places, packed_commits
from kohort.pipeline.job.file_frames import silver_frame
from kohort.pipeline.remote_path import Place
from kohort.pipeline.silver.silver_schemas import COLUMNS, ROW_TYPES
from kohort.pipeline.sources.source_rows import LogEndSample
from kohort.pipeline.sources.window import Window
from kohort.protocol.records.layouts import STREAMS_TOPOLOGY

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_BY_GROUP = ("group_records", "group_members", "member_partitions", "share_states", "events", "share_lags")
_TABLES = (*_BY_GROUP, "log_ranges", "coordinator_moves", "topic_names")
_UNTIL, _COMMITS, _ENDS = "until_ms", "commits", "end_offsets"


def silver_by_group(spark: SparkSession, silver: Place, only: list[str] | None) -> DataFrame:
    """Return a frame with cluster, group_id and one more non-null column per row, for the groups `only` or all."""
    places = commit_places(spark, silver).persist()  # a row for each topic of a group: small and used often
    groups = _groups(spark, silver, places)
    commits = packed_commits(spark, silver, only).where("group_id is not null").withColumnRenamed("payload", _COMMITS)
    frames = [commits, *_rows(spark, silver, places, groups)]
    every = reduce(lambda a, b: a.unionByName(b, allowMissingColumns=True), frames)
    return every if only is None else every.where(F.col("group_id").isin(only))


def _groups(spark: SparkSession, silver: Place, places: DataFrame) -> DataFrame:
    """Return a frame (cluster, group_id, partition) of all groups; partition is null if unknown."""
    frames = [places.select("cluster", "group_id", "partition")] + [
        silver_frame(spark, silver, table).select("cluster", "group_id", F.col(column).alias("partition"))
        for table, column in (("group_records", "partition"), ("events", "co_partition"))
    ]
    nowhere = F.lit(None).cast("int").alias("partition")
    for table in ("share_states", "share_lags"):
        frames.append(silver_frame(spark, silver, table).select("cluster", "group_id", nowhere))
    return (
        reduce(lambda a, b: a.unionByName(b), frames)
        .where("group_id is not null")
        .groupBy("cluster", "group_id")
        .agg(F.max("partition").alias("partition"))
    )


def _rows(spark: SparkSession, silver: Place, places: DataFrame, groups: DataFrame) -> Iterator[DataFrame]:
    """Yield frames of all tables except commits."""
    for table in _BY_GROUP:
        yield _as_struct(silver_frame(spark, silver, table).where("group_id is not null"), table)
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
    yield _as_struct(ranges.join(on_partition, ["cluster", "partition"]), "log_ranges")
    yield _as_struct(moves.join(on_partition, ["cluster", "partition"]), "coordinator_moves")
    until = ranges.groupBy("cluster").agg(F.max("last_ts_ms").alias(_UNTIL))
    yield groups.select("cluster", "group_id").join(F.broadcast(until), "cluster")
    ids = silver_frame(spark, silver, "member_partitions").where("topic_id is not null")
    shared = silver_frame(spark, silver, "share_states").select("cluster", "group_id", "topic_id").distinct()
    ids = ids.select("cluster", "group_id", "topic_id").unionByName(shared).distinct()
    names = silver_frame(spark, silver, "topic_names").distinct()
    yield _as_struct(ids.join(names, ["cluster", "topic_id"]), "topic_names")
    topics = places.select("cluster", "group_id", "topic")
    topics = topics.unionByName(shared.join(names, ["cluster", "topic_id"]).select("cluster", "group_id", "topic"))
    topics = topics.unionByName(silver_frame(spark, silver, "share_lags").select("cluster", "group_id", "topic"))
    topologies = silver_frame(spark, silver, "group_records").where(F.col("record_type") == STREAMS_TOPOLOGY)
    topics = topics.unionByName(topologies.select("cluster", "group_id", F.explode("topics").alias("topic")))
    ends = silver_frame(spark, silver, _ENDS)
    yield _as_struct(ends.join(F.broadcast(topics.distinct()), ["cluster", "topic"]), _ENDS)


def _as_struct(frame: DataFrame, table: str) -> DataFrame:
    return frame.select("cluster", "group_id", F.struct(*COLUMNS[table]).alias(table))


def group_rows(batches: Iterator[pa.RecordBatch], window: Window) -> tuple[list[bytes], GroupRows]:
    """Return a group's packed commits and its other rows, in a worker; silver was read with `window`."""
    payloads: list[bytes] = []
    rows, samples = GroupRows(since_ms=window.since_ms), list[LogEndSample]()
    for batch in batches:
        payloads += batch.column(_COMMITS).drop_null().to_pylist()
        for until_ms in batch.column(_UNTIL).drop_null().to_pylist():
            rows.until_ms = min(until_ms, window.until_ms)
        for table in _TABLES:
            getattr(rows, table).extend(_row_objects(batch, table))
        samples += _row_objects(batch, _ENDS)
    rows.end_offsets = log_ends(samples)
    return payloads, rows


def _row_objects(batch: pa.RecordBatch, table: str) -> list[Any]:
    structs = batch.column(table).drop_null()
    return rows_of(ROW_TYPES[table], COLUMNS[table], pa.Table.from_struct_array(structs)) if len(structs) else []
