"""Gold tables written by the workers: a file holds one table and day, and one task writes all of it."""

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
    """Writes every gold table by day into an empty folder. Gives rows by table.

    A task that is tried again writes under another name: files get their names when it is known whose count.
    """

    def write(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        name = f"_{uuid.uuid4().hex}.parquet"
        found: list[dict[str, object]] = []
        with ExitStack() as at_end:
            place: tuple[str, str] | None = None
            file: DayFile | None = None
            for batch in batches:
                for row in batch.to_pylist():
                    if place != (row["table"], row["day"]):
                        at_end.close()
                        place = (row["table"], row["day"])
                        file = at_end.enter_context(DayFile(gold, *place, name))
                        found.append({"table": place[0], "day": place[1], "file": name, "rows": 0})
                    assert file is not None
                    file.add(unpack_gold(row["payload"]))
                    found[-1]["rows"] = file.rows
        if found:
            yield pa.RecordBatch.from_pylist(found)

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
    """Shows one file of a folder, and removes what tasks left that were tried again."""
    places: list[Place] = list(folder.iterdir())
    for place in places:
        if place.name != name:
            place.unlink()
    rename(folder / name, FILE)
