"""The live tracker in Spark: `transformWithState` keeps each group's state, and wakes it when its time comes."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql import Row
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

from kohort.client.security import OPEN, Security
from kohort.pipeline.job.stream_source import RANGES, reading
from kohort.pipeline.live.tracker import Alert, GroupState, Watched, feed, look, row_of
from kohort.pipeline.live.tracker_rows import tracker_rows
from kohort.pipeline.live.watching import NEVER, watched
from kohort.pipeline.silver.record_rows import SilverRows

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

FED = "group_id string, partition int, offset long, row string"
ALERTS = "group_id string, ts_ms long, kind string, severity string, text string"
STATE_LIFE_MS = 8 * 24 * 3_600_000
"""A group of which nothing was heard for so long is forgotten."""
LOOK_AGAIN_S = 0.2
CHECK_AGAIN_MS = 1_000
"""An alarm whose time has come waits until the log has been read so far."""
FIRST_LOOK_MS = 10_000
"""Before anything was read to its end, the time of an alarm isn't known."""


def alerts(
    spark: SparkSession, address: str, most: int = 0, security: Security = OPEN, watched_file: Path | None = None
) -> DataFrame:
    """Alerts as they arise, from the cluster at `address`; `most`: records a trigger takes (0: all there are).

    watched_file: where driver and workers keep how far the log has been read.
    """
    reader = spark.readStream.format("group_log").option("emit", RANGES).options(**security.options)
    if watched_file is not None:
        reader = reader.option("watchedFile", str(watched_file))
    if most:
        reader = reader.option("maxRecordsPerTrigger", str(most))

    def decode(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        with reading(address, security) as read:
            for batch in batches:
                for number, start, end in zip(*(column.to_pylist() for column in batch.columns), strict=True):
                    silver = SilverRows("", 0)
                    found = (table for chunk in read(number, start, end) for table in silver.add(chunk))
                    columns: list[list[Any]] = [list(each) for each in zip(*tracker_rows(found), strict=True)]
                    if columns:
                        kinds = (pa.string(), pa.int32(), pa.int64(), pa.string())
                        arrays = [pa.array(column, kind) for column, kind in zip(columns, kinds, strict=True)]
                        yield pa.RecordBatch.from_arrays(arrays, ["group_id", "partition", "offset", "row"])

    fed = reader.load(address).mapInArrow(decode, FED)
    return fed.groupBy("group_id").transformWithState(
        statefulProcessor=Tracker(watched_file), outputStructType=ALERTS, outputMode="Update", timeMode="ProcessingTime"
    )


class Tracker(StatefulProcessor):
    """One group at a time; what is decided is decided in `live.tracker`."""

    def __init__(self, watched_file: Path | None = None) -> None:
        self._watched_file = watched_file
        self._watched: tuple[float, Watched] | None = None

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Called in a worker, before anything else."""
        self._handle = handle
        self._state = handle.getValueState("group", "state string", STATE_LIFE_MS)

    def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: Any) -> Iterator[Row]:  # noqa: N802, N803
        """The group's rows of one trigger."""
        state, now_ms = self._read(), round(time.time() * 1000)
        ordered = sorted(rows, key=lambda row: (row["partition"], row["offset"]))
        found = feed(key[0], state, (row_of(row["row"]) for row in ordered), now_ms)
        found += look(key[0], state, self._watching())
        self._keep(state, timerValues)
        yield from map(_row, found)

    def handleExpiredTimer(self, key: Any, timerValues: Any, expiredTimerInfo: Any) -> Iterator[Row]:  # noqa: N802, N803
        """Nothing was heard of the group for as long as it takes to be worried."""
        state = self._read()
        found = look(key[0], state, self._watching())
        self._keep(state, timerValues)
        yield from map(_row, found)

    def close(self) -> None:
        """Nothing is open."""

    def _watching(self) -> Watched:
        """How far this batch has read. Asked for each group, looked up a few times a second."""
        now = time.monotonic()
        if self._watched is None or now - self._watched[0] > LOOK_AGAIN_S:
            self._watched = now, watched(self._watched_file)
        return self._watched[1]

    def _read(self) -> GroupState:
        known = self._state.get()
        return GroupState.of(known[0]) if known is not None else GroupState()

    def _keep(self, state: GroupState, timer_values: Any) -> None:
        self._state.update((state.text(),))
        for timer in list(self._handle.listTimers()):
            self._handle.deleteTimer(timer)
        known = self._watching()
        alarm_ms, now_ms = state.alarm_ms(known), timer_values.getCurrentProcessingTimeInMs()
        if alarm_ms is not None:
            unknown = known == NEVER
            self._handle.registerTimer(now_ms + FIRST_LOOK_MS if unknown else max(alarm_ms, now_ms + CHECK_AGAIN_MS))


def _row(alert: Alert) -> Row:
    return Row(group_id=alert.group_id, ts_ms=alert.ts_ms, kind=alert.kind, severity=alert.severity, text=alert.text)
