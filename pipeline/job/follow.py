"""`kohort analyze --follow`: silver grows as the cluster's log does, alerts are said at once, the report is made anew.

Two streams read the cluster: one appends silver (a batch that is written again replaces itself, so a restart neither
loses nor doubles a row), the other keeps the tracker. When one of them fails because the cluster went away, it is
started again from where it was. Gold and the report come from the same functions as in a batch analysis.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq

from kohort.client.security import OPEN, Security
from kohort.pipeline.analysis.analysis_run import Outcome, Progress
from kohort.pipeline.job.following_files import FollowedFiles, following_files
from kohort.pipeline.job.formats import register
from kohort.pipeline.job.live_reports import OutputFolders, Reports, passing_reason
from kohort.pipeline.job.news import NewFindings
from kohort.pipeline.job.periodic import looking
from kohort.pipeline.job.rebalance_poller import watching_groups
from kohort.pipeline.job.stream_source import RANGES, reading
from kohort.pipeline.job.telling import now_ms, telling
from kohort.pipeline.job.tracking import alerts
from kohort.pipeline.live.group_figures import figures_of
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

    from kohort.pipeline.live.follow_metrics import FollowMetrics
    from kohort.pipeline.live.open_rebalances import OpenRebalances

TRIGGER_S = 2.0
REBUILD_S = 60.0
PAUSE_S = 3.0
"""Before a stream that failed is tried again."""
LOOK_S = 0.5
FINISH_S, WAIT_S = 30.0, 0.1
"""How long the end waits for the batch at hand, and how often it looks. A second Ctrl-C does not wait."""
MOST_PER_TRIGGER = 2_000_000
"""Records of one batch: a first start on a large cluster comes in portions."""


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
    """Starts appending silver. `available_now`: takes what there is, in batches of at most `most`, and ends."""
    folder = str(folders.silver)
    clean(folders.silver)

    def write(batch: DataFrame, number: int) -> None:
        def work(ranges: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            with Writer(Path(folder), str(number)) as writer, reading(address, security) as read:
                for each in ranges:
                    for partition, start, end in zip(*(column.to_pylist() for column in each.columns), strict=True):
                        rows = SilverRows(cluster, _RANK)
                        for chunk in read(partition, start, end):
                            for table, found in rows.add(chunk):
                                writer.add(table, found)
                        for table, found in rows.finish():
                            writer.add(table, found)
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
    """Starts the tracker. Its alerts go into a table, by batch: the code of a batch may run on another machine."""

    def write(batch: DataFrame, number: int) -> None:
        rows = batch.orderBy("ts_ms", "group_id").toArrow()
        if not len(rows):
            return
        hidden, place = folders.alerts / f"_{number}", folders.alerts / f"batch={number}"
        for each in (hidden, place):
            shutil.rmtree(each, ignore_errors=True)
        hidden.mkdir(parents=True)
        rows = rows.append_column("cluster", pa.array([cluster] * len(rows)))
        pq.write_table(rows, hidden / "part-00000.parquet")
        hidden.rename(place)

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
    """Tells alerts as soon as they are in their table. Those that are there already were told before."""
    printed = set(folder.glob("batch=*"))

    def look() -> None:
        new = set(folder.glob("batch=*")) - printed
        for place in sorted(new, key=lambda path: int(path.name.partition("=")[2])):
            printed.add(place)
            for row in pq.read_table(place / "part-00000.parquet", partitioning=None).to_pylist():
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
    """Follows a cluster until interrupted, or `until` says so. Returns the last outcome, None: nothing was read.

    places: text logs and event logs, or folders of them, that are followed together with the cluster. print_line,
    notify: hear of alerts, and of warnings that a new report has and the one before had not.
    """

    def tell(message: Message) -> None:
        print_line(_line(message))
        notify(message)
        if metrics is not None:
            metrics.alert(message)

    register(spark)
    folders, source = OutputFolders(out), Source(WIRE, address, security=security)
    starts = {
        "silver": lambda: silver_stream(spark, address, folders, cluster, security=security),
        "alerts": lambda: alert_stream(spark, address, folders, cluster, security),
    }
    streams = _Streams(starts, say)
    files = FollowedFiles(list(places), folders.silver, folders.files, cluster) if places else None
    reports = Reports(spark, source, folders, say, cluster, files)
    built_at, interrupted, news = time.monotonic(), False, NewFindings()
    with (
        telling(address, tell, security) as told,
        printing_alerts(folders.alerts, told.hear_of_silences),
        watching_groups(address, folders.silver, told.hear, say, security) as rebalances,
        following_files(files, say),
    ):
        try:
            while not until():
                for name, problem in streams.tend():
                    _keep_issue(folders, name, problem, cluster)
                    interrupted = True
                batch = streams.last_batch("silver")
                if metrics is not None:
                    _measure(metrics, rebalances, files, streams)
                if time.monotonic() - built_at >= every_s and reports.is_due(batch):
                    if (made := reports.make(batch)) is not None:
                        _measure_report(metrics, made, reports.took_s, out)
                        for message in news.among(made.findings, now_ms()):
                            told.hear(message)
                    built_at = time.monotonic()
                time.sleep(LOOK_S)
        finally:
            streams.stop()
    last = streams.last_batch("silver")
    if reports.is_due(last) or (interrupted and reports.outcome is not None):
        return reports.make(last, all_groups=True) or reports.make(last, whatever=True, all_groups=True)
    return reports.outcome


def _measure_report(metrics: FollowMetrics | None, made: Outcome, took_s: float, out: Path) -> None:
    if metrics is not None:
        metrics.report(_named(made), took_s)
        metrics.groups(figures_of(out / "tables" / "gold"))


def _measure(
    metrics: FollowMetrics, rebalances: OpenRebalances, files: FollowedFiles | None, streams: _Streams
) -> None:
    metrics.open_rebalances(rebalances.reported)
    metrics.file_events(files.events if files is not None else 0)
    streams.measure(metrics)


def _named(made: Outcome) -> Iterator[tuple[str, str, str]]:
    return ((row["group"], row["rule"], row["severity"]) for row in made.findings)


def _line(message: Message) -> str:
    """As it stands on the terminal."""
    at = datetime.fromtimestamp(message.at_ms / 1000).astimezone().strftime("%H:%M:%S")
    return f"{at} {_MARKS.get(message.severity, '  ')} {message.group}: {message.text}"


class _Streams:
    """Streams that are kept going."""

    def __init__(self, starts: dict[str, Callable[[], StreamingQuery]], say: Progress) -> None:
        self._starts = starts
        self._say = say
        self._running: dict[str, StreamingQuery] = {}
        self._again_at = dict.fromkeys(starts, 0.0)
        self._failed: dict[str, str] = {}
        self._last_batch = dict.fromkeys(starts, -1)

    def tend(self) -> list[tuple[str, str]]:
        """Starts what does not run. Returns what ended, and why: each reason once, not at every try."""
        ended = []
        for name, start in self._starts.items():
            query = self._running.get(name)
            if query is not None and query.isActive:
                self._note_progress(name, query)
                continue
            if query is not None:
                problem = _reason(query)
                del self._running[name]
                self._again_at[name] = time.monotonic() + PAUSE_S
                if problem not in self._failed.values():  # both streams fail of the same: once is enough
                    self._say(f"{problem}; trying again every {PAUSE_S:.0f} s")
                if self._failed.get(name) != problem:
                    self._failed[name] = problem
                    ended.append((name, problem))
            if time.monotonic() >= self._again_at[name]:
                self._start(name, start)
        return ended

    def _start(self, name: str, start: Callable[[], StreamingQuery]) -> None:
        """Starts a stream. What goes by is tried again."""
        try:
            self._running[name] = start()
        except Exception as problem:
            if (reason := passing_reason(problem)) is None:
                raise
            self._again_at[name] = time.monotonic() + PAUSE_S
            if name not in self._failed:
                self._say(f"{reason}; trying again every {PAUSE_S:.0f} s")
                self._failed[name] = reason

    def last_batch(self, name: str) -> int:
        """The number of the last batch that was done; -1: none was."""
        return self._last_batch[name]

    def measure(self, metrics: FollowMetrics) -> None:
        """Which of them read, and how far they are."""
        for name in self._starts:
            up = name in self._running and self._running[name].isActive
            metrics.stream(name, up, self._last_batch[name])

    def stop(self) -> None:
        """Ends them, after the batch at hand. One that takes longer than FINISH_S is finished by the next start."""
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
            # An idle trigger reports the number of the batch that would be next.
            done = progress.batchId if progress.numInputRows else progress.batchId - 1
            self._last_batch[name] = max(self._last_batch[name], done)


def _finish_batch(query: StreamingQuery, until: float) -> None:
    """Waits until what is being read is written: the last report tells of it. until: on the monotonic clock."""

    def number() -> int:
        progress = query.lastProgress
        return -1 if progress is None else int(progress.batchId)

    before = number()
    while query.isActive and number() == before and time.monotonic() < until:
        status = query.status
        if not (status["isTriggerActive"] and status["isDataAvailable"]):
            return
        time.sleep(WAIT_S)


def _reason(query: StreamingQuery) -> str:
    """Why a stream ended, in one line: of a long chain of causes, what our own source said."""
    problem = query.exception()
    text = str(problem) if problem is not None else "it ended"
    for line in reversed(text.splitlines()):
        found = line.strip()
        for name in ("WireError: ", "ConnectionRefusedError: ", "TimeoutError: ", "OSError: "):
            if name in found:
                return found.rpartition(name)[2]
    return text.strip().splitlines()[0]


def _keep_issue(folders: OutputFolders, stream: str, problem: str, cluster: str) -> None:
    """A row of dq_issues: what the analysis may have missed is said in its report."""
    batch = f"issue-{time.time_ns()}"
    with Writer(folders.silver, batch) as writer:
        issue_row(Issue("cluster_gone", stream, f"reading was interrupted: {problem}"), cluster, writer)
    publish(folders.silver, batch, [writer.task])


_RANK = Source(WIRE, "").rank
_MARKS = {"warning": " !", "critical": "!!"}
