"""Gold tables written by the workers; one task writes the whole file of a table and day."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import ExitStack
from typing import TYPE_CHECKING

import pyarrow as pa

from kohort.pipeline.analysis.engine import RowCounts
from kohort.pipeline.gold.gold_files import FILE, DayFile, day_folder
from kohort.pipeline.job.gold import unpack_gold
from kohort.pipeline.remote_path import Place, rename
from kohort.pipeline.session import parallelism
from kohort.pipeline.silver.parquet_files import UnseenTablesError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_WRITTEN = "table string, day string, file string, rows long"
_TASKS_PER_CORE = 2


def write_gold(packed: DataFrame, gold: Place) -> RowCounts:
    """Write every gold table by day to an empty folder, and return row counts by table.

    A retried task writes under another name; files are renamed once the counts of successful tasks are known.
    """

    def write(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        name = f"_{uuid.uuid4().hex}.parquet"
        counts: list[dict[str, object]] = []
        with ExitStack() as at_end:
            table_and_day: tuple[str, str] | None = None
            file: DayFile | None = None
            for batch in batches:
                for row in batch.to_pylist():
                    if table_and_day != (row["table"], row["day"]):
                        at_end.close()
                        table_and_day = (row["table"], row["day"])
                        file = at_end.enter_context(DayFile(gold, *table_and_day, name))
                        counts.append({"table": table_and_day[0], "day": table_and_day[1], "file": name, "rows": 0})
                    assert file is not None
                    file.add(unpack_gold(row["payload"]))
                    counts[-1]["rows"] = file.rows
        if counts:
            yield pa.RecordBatch.from_pylist(counts)

    in_files = packed.repartition(_TASKS_PER_CORE * parallelism(packed.sparkSession), "table", "day")
    in_order = in_files.sortWithinPartitions("table", "day", "group_id", "cluster")
    counts: RowCounts = {}
    for row in in_order.drop("cluster", "group_id").mapInArrow(write, _WRITTEN).collect():
        folder = day_folder(gold, row["table"], row["day"])
        if not (folder / row["file"]).exists():
            raise UnseenTablesError(gold)
        _only(folder, row["file"])
        counts[row["table"]] = counts.get(row["table"], 0) + row["rows"]
    return counts


def _only(folder: Place, name: str) -> None:
    """Give one file of a folder its final name, and remove files of failed attempts."""
    paths: list[Place] = list(folder.iterdir())
    for path in paths:
        if path.name != name:
            path.unlink()
    rename(folder / name, FILE)
