"""`kohort follow --engine spark`: extends silver continuously, prints alerts at once and updates the report.

Two streams read the cluster: one appends silver (a repeated batch replaces itself, so a restart neither loses nor
duplicates rows), the other updates the tracker. A stream that fails because the cluster is unreachable is restarted at
its checkpoint. Gold and the report come from the same functions as in a batch analysis.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq

from kohort.client.security import OPEN, Security
from kohort.pipeline.analysis.analysis_run import Outcome, Progress
from kohort.pipeline.job.follow_output import FollowOutput
from kohort.pipeline.job.following_files import FollowedFiles, following_files
from kohort.pipeline.job.formats import register
from kohort.pipeline.job.live_reports import OutputFolders, Reports, passing_reason
from kohort.pipeline.job.periodic import looking
from kohort.pipeline.job.rebalance_poller import watching_groups
from kohort.pipeline.job.stream_source import RANGES, reading
from kohort.pipeline.job.telling import telling
from kohort.pipeline.job.tracking import alerts
from kohort.pipeline.live.follow_metrics import FollowMetrics
from kohort.pipeline.live.last_generations import LastGenerations
from kohort.pipeline.live.webhook import Message
from kohort.pipeline.silver.parquet_files import Writer, publish
from kohort.pipeline.silver.read_sources import issue_row
from kohort.pipeline.silver.record_rows import SilverRows
from kohort.pipeline.silver.rolling import clean
from kohort.pipeline.sources.chunk import Issue
from kohort.pipeline.sources.found import WIRE, Source

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery


TRIGGER_S = 2.0
REBUILD_S = 60.0
PAUSE_S = 3.0  # backoff before a failed stream is restarted
LOOK_S = 0.5
FINISH_S, WAIT_S = 30.0, 0.1  # timeout of the last batch, and the polling interval; a second Ctrl-C skips it
MOST_PER_TRIGGER = 2_000_000  # records per batch, so that the first start on a large cluster is split up


def silver_stream(
    spark: SparkSession,
    address: str,
    folders: OutputFolders,
    cluster: str = "",
    *,
    most: int = MOST_PER_TRIGGER,
    trigger_s: float = TRIGGER_S,
    available_now: bool = False,
    security: Security = OPEN,
) -> StreamingQuery:
    """Start the stream that appends silver.

    With `available_now` it reads the present records in batches of at most `most`, and ends.
    """
    folder = str(folders.silver)
    clean(folders.silver)

    def write(batch: DataFrame, number: int) -> None:
        def work(ranges: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            with Writer(Path(folder), str(number)) as writer, reading(address, security) as read:
                for batch_ranges in ranges:
                    for partition, start, end in zip(
                        *(column.to_pylist() for column in batch_ranges.columns), strict=True
                    ):
                        rows = SilverRows(cluster, _RANK)
                        for chunk in read(partition, start, end):
                            for table, table_rows in rows.add(chunk):
                                writer.add(table, table_rows)
                        for table, table_rows in rows.finish():
                            writer.add(table, table_rows)
            yield pa.RecordBatch.from_pydict({"task": pa.array([writer.task])})

        tasks = [row["task"] for row in batch.mapInArrow(work, "task string").collect()]
        publish(Path(folder), str(number), tasks)

    stream = (
        spark.readStream.format("group_log")
        .option("emit", RANGES)
        .option("maxRecordsPerTrigger", str(most))
        .options(**security.options)
        .load(address)
        .writeStream.foreachBatch(write)
        .option("checkpointLocation", folders.checkpoint("silver"))
        .queryName("silver")
    )
    trigger = (
        stream.trigger(availableNow=True) if available_now else stream.trigger(processingTime=f"{trigger_s} seconds")
    )
    return trigger.start()


def alert_stream(
    spark: SparkSession, address: str, folders: OutputFolders, cluster: str = "", security: Security = OPEN
) -> StreamingQuery:
    """Start the stream of the tracker. Alerts are written to a table because batches may run on other machines."""

    def write(batch: DataFrame, number: int) -> None:
        rows = batch.orderBy("ts_ms", "group_id").toArrow()
        if not len(rows):
            return
        hidden, folder = folders.alerts / f"_{number}", folders.alerts / f"batch={number}"
        for path in (hidden, folder):
            shutil.rmtree(path, ignore_errors=True)
        hidden.mkdir(parents=True)
        rows = rows.append_column("cluster", pa.array([cluster] * len(rows)))
        pq.write_table(rows, hidden / "part-00000.parquet")
        hidden.rename(folder)

    return (
        alerts(spark, address, MOST_PER_TRIGGER, security, folders.watched)
        .writeStream.foreachBatch(write)
        .outputMode("update")
        .option("checkpointLocation", folders.checkpoint("alerts"))
        .queryName("alerts")
        .trigger(processingTime=f"{TRIGGER_S} seconds")
        .start()
    )


@contextmanager
def printing_alerts(folder: Path, tell: Callable[[Message], None]) -> Iterator[None]:
    """Print new alerts as soon as they are in their table; alerts present at the start are skipped."""
    printed = set(folder.glob("batch=*"))

    def look() -> None:
        new = set(folder.glob("batch=*")) - printed
        for batch_folder in sorted(new, key=lambda path: int(path.name.partition("=")[2])):
            printed.add(batch_folder)
            for row in pq.read_table(batch_folder / "part-00000.parquet", partitioning=None).to_pylist():
                tell(Message(row["group_id"], row["ts_ms"], row["kind"], row["severity"], row["text"]))

    with looking(look, LOOK_S, at_the_end=True):
        yield


def follow(
    spark: SparkSession,
    address: str,
    out: Path,
    say: Progress,
    print_line: Callable[[str], None],
    cluster: str = "",
    *,
    every_s: float = REBUILD_S,
    until: Callable[[], bool] = lambda: False,
    security: Security = OPEN,
    notify: Callable[[Message], None] = lambda _: None,
    places: Sequence[Path] = (),
    metrics: FollowMetrics | None = None,
) -> Outcome | None:
    """Follow a cluster until interrupted or until `until` returns True.

    Args:
        spark: Session to use.
        address: Bootstrap address.
        out: Output folder.
        say: Prints progress.
        print_line: Prints alerts, and warnings that are new in a report.
        cluster: Name of the cluster in the tables.
        every_s: Interval of reports.
        until: Polled for the end.
        security: How to connect.
        notify: Receives the same alerts and warnings as `print_line`.
        places: Text logs and event logs, or folders of them, to follow together with the cluster.
        metrics: Metrics to update.

    Returns:
        The last outcome, or None if nothing was read.
    """
    register(spark)
    folders, source = OutputFolders(out), Source(WIRE, address, security=security)
    starts = {
        "silver": lambda: silver_stream(spark, address, folders, cluster, security=security),
        "alerts": lambda: alert_stream(spark, address, folders, cluster, security),
    }
    streams = _Streams(starts, say)
    files = FollowedFiles(list(places), folders.silver, folders.files, cluster) if places else None
    reports = Reports(spark, source, folders, say, cluster, files)
    output = FollowOutput(print_line, notify, metrics or FollowMetrics())
    built_at, interrupted = time.monotonic(), False
    with (
        telling(address, output.send, security) as alerts_in_order,
        printing_alerts(folders.alerts, alerts_in_order.hear_of_silences),
        watching_groups(address, LastGenerations(folders.silver), alerts_in_order.hear, say, security) as rebalances,
        following_files(files, say),
    ):
        try:
            while not until():
                for name, error in streams.tend():
                    _keep_issue(folders, name, error, cluster)
                    interrupted = True
                batch = streams.last_batch("silver")
                output.measure(rebalances, files)
                streams.measure(output.metrics)
                if time.monotonic() - built_at >= every_s and reports.is_due(batch):
                    if (outcome := reports.make(batch)) is not None:
                        gold = out / "tables" / "gold"
                        output.report(outcome.findings, gold, reports.took_s, rebalances, alerts_in_order.hear)
                    built_at = time.monotonic()
                time.sleep(LOOK_S)
        finally:
            streams.stop()
    last = streams.last_batch("silver")
    if reports.is_due(last) or (interrupted and reports.outcome is not None):
        return reports.make(last, all_groups=True) or reports.make(last, whatever=True, all_groups=True)
    return reports.outcome


class _Streams:
    """Streams that are restarted when they fail."""

    def __init__(self, starts: dict[str, Callable[[], StreamingQuery]], say: Progress) -> None:
        self._starts = starts
        self._say = say
        self._running: dict[str, StreamingQuery] = {}
        self._again_at = dict.fromkeys(starts, 0.0)
        self._failed: dict[str, str] = {}
        self._last_batch = dict.fromkeys(starts, -1)

    def tend(self) -> list[tuple[str, str]]:
        """Restart failed streams. Return the names of ended streams with the error, once per error."""
        ended = []
        for name, start in self._starts.items():
            query = self._running.get(name)
            if query is not None and query.isActive:
                self._note_progress(name, query)
                continue
            if query is not None:
                error = _reason(query)
                del self._running[name]
                self._again_at[name] = time.monotonic() + PAUSE_S
                if error not in self._failed.values():  # both streams report the same error; log it once
                    self._say(f"{error}; trying again every {PAUSE_S:.0f} s")
                if self._failed.get(name) != error:
                    self._failed[name] = error
                    ended.append((name, error))
            if time.monotonic() >= self._again_at[name]:
                self._start(name, start)
        return ended

    def _start(self, name: str, start: Callable[[], StreamingQuery]) -> None:
        """Start a stream, or schedule a retry after a transient error."""
        try:
            self._running[name] = start()
        except Exception as error:
            if (reason := passing_reason(error)) is None:
                raise
            self._again_at[name] = time.monotonic() + PAUSE_S
            if name not in self._failed:
                self._say(f"{reason}; trying again every {PAUSE_S:.0f} s")
                self._failed[name] = reason

    def last_batch(self, name: str) -> int:
        """Return the number of the last completed batch, or -1."""
        return self._last_batch[name]

    def measure(self, metrics: FollowMetrics) -> None:
        for name in self._starts:
            up = name in self._running and self._running[name].isActive
            metrics.stream(name, up, self._last_batch[name])

    def stop(self) -> None:
        """Stop the streams after their current batch.

        A batch that takes longer than FINISH_S is repeated at the next start.
        """
        until = time.monotonic() + FINISH_S
        for name, query in self._running.items():
            _finish_batch(query, until)
            self._note_progress(name, query)
            query.stop()

    def _note_progress(self, name: str, query: StreamingQuery) -> None:
        progress = query.lastProgress
        if progress is not None:
            if self._failed.pop(name, None) and not self._failed:
                self._say("reading again")
            # An idle trigger reports the number of the next batch.
            last_done = progress.batchId if progress.numInputRows else progress.batchId - 1
            self._last_batch[name] = max(self._last_batch[name], last_done)


def _finish_batch(query: StreamingQuery, until: float) -> None:
    """Wait until the current batch is written, so that the last report includes it, but not beyond `until`."""

    def number() -> int:
        progress = query.lastProgress
        return -1 if progress is None else int(progress.batchId)

    first_number = number()
    while query.isActive and number() == first_number and time.monotonic() < until:
        status = query.status
        if not (status["isTriggerActive"] and status["isDataAvailable"]):
            return
        time.sleep(WAIT_S)


def _reason(query: StreamingQuery) -> str:
    """Return the error of our own source from a long chain of causes, in one line."""
    error = query.exception()
    text = str(error) if error is not None else "it ended"
    for line in reversed(text.splitlines()):
        stripped = line.strip()
        for name in ("WireError: ", "ConnectionRefusedError: ", "TimeoutError: ", "OSError: "):
            if name in stripped:
                return stripped.rpartition(name)[2]
    return text.strip().splitlines()[0]


def _keep_issue(folders: OutputFolders, stream: str, error: str, cluster: str) -> None:
    """Write a row of dq_issues, so that the report mentions data the analysis may have missed."""
    batch = f"issue-{time.time_ns()}"
    with Writer(folders.silver, batch) as writer:
        issue_row(Issue("cluster_gone", stream, f"reading was interrupted: {error}"), cluster, writer)
    publish(folders.silver, batch, [writer.task])


_RANK = Source(WIRE, "").rank
