"""Live tracker in Spark: `transformWithState` keeps each group's state, and calls the tracker when a timer expires."""

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
from kohort.pipeline.live.tracker import Alert, GroupState, Watched, feed, look, row_of, row_text
from kohort.pipeline.live.tracker_rows import tracker_rows
from kohort.pipeline.live.watching import NEVER, watched
from kohort.pipeline.silver.record_rows import SilverRows

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

FED = "group_id string, partition int, offset long, row string"
ALERTS = "group_id string, ts_ms long, kind string, severity string, text string"
STATE_LIFE_MS = 8 * 24 * 3_600_000  # groups without records for this long are forgotten
LOOK_AGAIN_S = 0.2
CHECK_AGAIN_MS = 1_000  # an expired alarm waits until the log has been read up to its time
FIRST_LOOK_MS = 10_000  # delay of alarms before the log has been read to its end for the first time


def alerts(
    spark: SparkSession, address: str, most: int = 0, security: Security = OPEN, watched_file: Path | None = None
) -> DataFrame:
    """Return a stream of alerts from the cluster at `address`.

    Args:
        spark: Session to use.
        address: Bootstrap address.
        most: Records per trigger, or 0 for no limit.
        security: How to connect.
        watched_file: File in which driver and workers share the position in the log.
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
                    silver_tables = (table for chunk in read(number, start, end) for table in silver.add(chunk))
                    rows = ((*place, row_text(row)) for *place, row in tracker_rows(silver_tables))
                    columns: list[list[Any]] = [list(values) for values in zip(*rows, strict=True)]
                    if columns:
                        kinds = (pa.string(), pa.int32(), pa.int64(), pa.string())
                        arrays = [pa.array(column, kind) for column, kind in zip(columns, kinds, strict=True)]
                        yield pa.RecordBatch.from_arrays(arrays, ["group_id", "partition", "offset", "row"])

    fed = reader.load(address).mapInArrow(decode, FED)
    return fed.groupBy("group_id").transformWithState(
        statefulProcessor=Tracker(watched_file), outputStructType=ALERTS, outputMode="Update", timeMode="ProcessingTime"
    )


class Tracker(StatefulProcessor):
    """State of one group at a time; `live.tracker` decides about alerts."""

    def __init__(self, watched_file: Path | None = None) -> None:
        self._watched_file = watched_file
        self._watched: tuple[float, Watched] | None = None

    def init(self, handle: StatefulProcessorHandle) -> None:
        self._handle = handle
        self._state = handle.getValueState("group", "state string", STATE_LIFE_MS)

    def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: Any) -> Iterator[Row]:  # noqa: N802, N803
        state, now_ms = self._read(), round(time.time() * 1000)
        ordered = sorted(rows, key=lambda row: (row["partition"], row["offset"]))
        new_alerts = feed(key[0], state, (row_of(row["row"]) for row in ordered), now_ms)
        new_alerts += look(key[0], state, self._watching())
        self._keep(state, timerValues)
        yield from map(_row, new_alerts)

    def handleExpiredTimer(self, key: Any, timerValues: Any, expiredTimerInfo: Any) -> Iterator[Row]:  # noqa: N802, N803
        state = self._read()
        new_alerts = look(key[0], state, self._watching())
        self._keep(state, timerValues)
        yield from map(_row, new_alerts)

    def close(self) -> None:
        pass

    def _watching(self) -> Watched:
        """Return the position of this batch in the log, cached for LOOK_AGAIN_S because every group needs it."""
        now = time.monotonic()
        if self._watched is None or now - self._watched[0] > LOOK_AGAIN_S:
            self._watched = now, watched(self._watched_file)
        return self._watched[1]

    def _read(self) -> GroupState:
        saved = self._state.get()
        return GroupState.of(saved[0]) if saved is not None else GroupState()

    def _keep(self, state: GroupState, timer_values: Any) -> None:
        self._state.update((state.text(),))
        for timer in list(self._handle.listTimers()):
            self._handle.deleteTimer(timer)
        position = self._watching()
        alarm_ms, now_ms = state.alarm_ms(position), timer_values.getCurrentProcessingTimeInMs()
        if alarm_ms is not None:
            unknown = position == NEVER
            self._handle.registerTimer(now_ms + FIRST_LOOK_MS if unknown else max(alarm_ms, now_ms + CHECK_AGAIN_MS))


def _row(alert: Alert) -> Row:
    return Row(group_id=alert.group_id, ts_ms=alert.ts_ms, kind=alert.kind, severity=alert.severity, text=alert.text)
