"""Commits of silver as Spark frames, packed by group (see `analysis.packed_commits`)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from kohort.pipeline.analysis.packed_commits import COMMITS_OF_A_GROUP, PLACES, TABLE, TEXTS, pack, places, row_groups
from kohort.pipeline.job.file_frames import over_files
from kohort.pipeline.remote_path import Place
from kohort.pipeline.silver.parquet_files import visible_files

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def commit_places(spark: SparkSession, silver: Place) -> DataFrame:
    """Return a frame of the distinct (cluster, group_id, partition, topic) of all commits."""
    kinds = "cluster string, group_id string, partition int, topic string"
    return _over_files(spark, silver, PLACES, places, kinds).distinct()


def packed_commits(spark: SparkSession, silver: Place, only: list[str] | None = None) -> DataFrame:
    """Return a frame (cluster, group_id, payload), with the commits of one group from part of a file per row.

    Args:
        spark: Session to use.
        silver: Folder of silver.
        only: Group ids, or None for all.
    """

    def work(rows: pa.Table) -> Iterator[pa.Table]:
        if only is not None:
            rows = rows.filter(pc.is_in(rows["group_id"].cast(pa.string()), pa.array(only, pa.string())))
        yield from pack(rows) if len(rows) else ()

    return _over_files(spark, silver, COMMITS_OF_A_GROUP, work, "cluster string, group_id string, payload binary")


def _over_files(
    spark: SparkSession,
    silver: Place,
    columns: tuple[str, ...],
    work: Callable[[pa.Table], Iterator[pa.Table]],
    kinds: str,
) -> DataFrame:
    """Apply `work` to every row group of the commits of silver, with texts as dictionaries."""

    def run(path: Place) -> Iterator[pa.RecordBatch]:
        for rows in row_groups(path, columns):
            for table in work(rows):
                plain = [table[n].cast(pa.string()) if n in TEXTS else table[n] for n in table.column_names]
                yield from pa.table(plain, table.column_names).to_batches()

    return over_files(spark, visible_files(silver, TABLE), run, kinds)
