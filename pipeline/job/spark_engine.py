"""Spark engine for large analyses and for following."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, TypeVar

from pyspark.sql import functions as F

from kohort.pipeline.analysis.engine import RowCounts, SilverFacts, Undecoded
from kohort.pipeline.arrow_types import rows_of
from kohort.pipeline.history.inputs import GroupInput
from kohort.pipeline.job.file_frames import silver_frame
from kohort.pipeline.job.gold import analyse_groups
from kohort.pipeline.job.gold_frames import write_gold
from kohort.pipeline.job.ingest import ingest_sources
from kohort.pipeline.job.spark_calls import SparkTasks, map_groups
from kohort.pipeline.remote_path import Place
from kohort.pipeline.silver.parquet_files import written
from kohort.pipeline.silver.silver_rows import EventRange, LogRange
from kohort.pipeline.silver.silver_schemas import COLUMNS
from kohort.pipeline.sources.chunk import Issue
from kohort.pipeline.sources.found import Source
from kohort.pipeline.sources.window import EVERYTHING, Window

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

RowT = TypeVar("RowT")
ResultT = TypeVar("ResultT")


class SparkEngine:
    """Engine that runs in the tasks of a Spark session."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark

    def ingest(self, sources: list[Source], silver: Place, cluster: str = "", window: Window = EVERYTHING) -> RowCounts:
        return ingest_sources(self._spark, sources, silver, cluster=cluster, window=window).rows

    def write_gold(self, silver: Place, gold: Place, window: Window = EVERYTHING) -> RowCounts:
        return write_gold(analyse_groups(self._spark, silver, window=window), gold)

    def silver_facts(self, silver: Place) -> SilverFacts:
        tables = written(silver)  # a frame of a table without files would fail
        return SilverFacts(
            issues=self._issues(silver) if "dq_issues" in tables else [],
            undecoded=self._undecoded(silver) if "decode_errors" in tables else [],
            ranges=self._rows(silver, "log_ranges", LogRange) if "log_ranges" in tables else [],
            event_ranges=self._rows(silver, "event_ranges", EventRange) if "event_ranges" in tables else [],
        )

    def map_groups(
        self, function: Callable[[GroupInput], ResultT], silver: Place, window: Window = EVERYTHING
    ) -> Iterator[ResultT]:
        return map_groups(self._spark, function, silver, window)

    def workers(self) -> AbstractContextManager[SparkTasks]:
        return nullcontext(SparkTasks(self._spark))

    def _issues(self, silver: Place) -> list[Issue]:
        rows = silver_frame(self._spark, silver, "dq_issues").select("rule", "keys", "detail").distinct().collect()
        return [Issue(row["rule"], row["keys"], row["detail"]) for row in rows]

    def _undecoded(self, silver: Place) -> list[Undecoded]:
        by = ("record_type", "value_version", "error")
        counted = silver_frame(self._spark, silver, "decode_errors").groupBy(*by).agg(F.count("*").alias("n"))
        return [Undecoded(*row) for row in counted.collect()]

    def _rows(self, silver: Place, table: str, row_type: type[RowT]) -> list[RowT]:
        return rows_of(row_type, COLUMNS[table], silver_frame(self._spark, silver, table).toArrow())
