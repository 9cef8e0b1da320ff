"""Calls of functions in the tasks of a Spark session. Arguments and results are pickled."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import pyarrow as pa

from kohort.pipeline.analysis.packed_commits import unpack
from kohort.pipeline.history.inputs import GroupInput
from kohort.pipeline.history.silver_input import group_input
from kohort.pipeline.job.group_rows import group_rows, silver_by_group
from kohort.pipeline.remote_path import Place
from kohort.pipeline.session import parallelism
from kohort.pipeline.sources.window import Window

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ItemT = TypeVar("ItemT")
ResultT = TypeVar("ResultT")

_TASKS_PER_CORE = 4  # calls differ in length; a core with short ones takes the next task
_NUMBERED = "number int, payload binary"


class SparkTasks:
    """Tasks that make calls at the same time, on all machines of a cluster."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark

    def map(self, function: Callable[[ItemT], ResultT], items: Sequence[ItemT]) -> Iterator[ResultT]:
        if not items:
            return
        count = min(len(items), _TASKS_PER_CORE * parallelism(self._spark))
        ends = [len(items) * number // count for number in range(count + 1)]
        chunks = [(number, pickle.dumps(items[ends[number] : ends[number + 1]])) for number in range(count)]

        def work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            for batch in batches:
                for row in batch.to_pylist():
                    results = [function(item) for item in pickle.loads(row["payload"])]
                    yield pa.RecordBatch.from_pydict(
                        {"number": pa.array([row["number"]], pa.int32()), "payload": [pickle.dumps(results)]}
                    )

        frame = self._spark.createDataFrame(chunks, _NUMBERED).repartitionByRange(count, "number")
        for row in sorted(frame.mapInArrow(work, _NUMBERED).collect()):
            yield from pickle.loads(row["payload"])


def map_groups(
    spark: SparkSession, function: Callable[[GroupInput], ResultT], silver: Place, window: Window
) -> Iterator[ResultT]:
    """Yield the result for each group in silver.

    Args:
        window: Window with which silver was read.
    """

    def work(key: tuple[Any, ...], batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        cluster, group_id = (scalar.as_py() for scalar in key)
        payloads, rows = group_rows(batches, window)
        result = function(group_input(group_id, cluster or "", unpack(payloads), rows))
        yield pa.RecordBatch.from_pydict({"payload": [pickle.dumps(result)]})

    shards = _TASKS_PER_CORE * parallelism(spark)
    by_group = silver_by_group(spark, silver, None).repartition(shards, "cluster", "group_id")
    for row in by_group.groupBy("cluster", "group_id").applyInArrow(work, "payload binary").toLocalIterator():
        yield pickle.loads(row["payload"])
