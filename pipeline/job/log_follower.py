"""`kohort follow` in one process: reads the offsets topic as it grows, and keeps the state of each group in memory.

The state is saved every minute with the positions in the log, so that counters continue after a restart. Reports are
made by `kohort analyze` in a child process, which reads the last hour from the cluster again and releases its memory.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Lock

from kohort.client.security import OPEN, Security
from kohort.pipeline.job.error_log import ErrorLog
from kohort.pipeline.job.following_files import FollowedFiles, following_files
from kohort.pipeline.job.news import NewFindings
from kohort.pipeline.job.rebalance_poller import watching_groups
from kohort.pipeline.job.telling import alert_line, now_ms, telling
from kohort.pipeline.live.follow_metrics import FollowMetrics
from kohort.pipeline.live.group_figures import figures_of
from kohort.pipeline.live.group_log import GroupLog
from kohort.pipeline.live.group_metrics import GroupMetrics
from kohort.pipeline.live.last_generations import LastGenerations
from kohort.pipeline.live.sampled_ends import LogEnds
from kohort.pipeline.live.tracker import Alert, Watched
from kohort.pipeline.live.waited_for import KnownGroup
from kohort.pipeline.live.watching import extended
from kohort.pipeline.live.webhook import Message
from kohort.pipeline.sources.chunk import OFFSETS_TOPIC, Chunk
from kohort.pipeline.sources.source_cluster import (
    LATEST,
    READ_UNCOMMITTED,
    Part,
    SourceCluster,
    WireError,
    partitions,
    read_range,
)
from kohort.pipeline.whole_files import replace_text
from kohort.protocol.messages.metadata import MetadataResponse

POLL_S, LOOK_S = 5.0, 0.5
ENDS_S, SAVE_S = 30.0, 60.0  # intervals of log ends and of saving the state
REPORT_S = 300.0
RECORDS_AT_ONCE = 50_000
STREAM = "log"


class LogReader:
    """Reads the records that were added to the offsets topic since the last poll."""

    def __init__(self, address: str, security: Security, log: GroupLog, positions: dict[int, int], lock: Lock) -> None:
        """Create a reader.

        Args:
            positions: Next offset by partition; updated together with `log`.
            lock: Held while `log` changes.
        """
        self._cluster, self._log, self.positions, self._lock = SourceCluster(address, security), log, positions, lock
        self._address = address
        self.watched: Watched | None = None
        self._topics: tuple[tuple[str, ...], MetadataResponse] | None = None

    def poll(self, at_ms: int) -> list[Alert]:
        """Read to the end and return alerts.

        Raises:
            OSError: The cluster can't be read. Records that were processed are not read again.
        """
        alerts: list[Alert] = []
        for part in partitions(self._cluster, with_empty=True):
            position = self.positions.get(part.partition)
            if position is not None and part.end < position:
                raise WireError(
                    f"{self._address}: partition {part.partition} of {OFFSETS_TOPIC} ends at {part.end}, but was read "
                    f"to {position} before: this is another cluster, or its log was lost; follow it with another --out"
                )
            start = max(part.start, position or 0)
            if start < part.end:
                alerts += self._read(replace(part, start=start), at_ms)
        self.watched = extended(self.watched, at_ms)
        with self._lock:
            return alerts + self._log.silences(self.watched)

    def _read(self, part: Part, at_ms: int) -> Iterator[Alert]:
        chunks, count = list[Chunk](), 0
        for chunk in read_range(self._cluster, part):
            chunks.append(chunk)
            count += len(chunk)
            if count >= RECORDS_AT_ONCE:
                yield from self._add(part, chunks, at_ms)
                chunks, count = [], 0
        yield from self._add(part, chunks, at_ms)

    def _add(self, part: Part, chunks: list[Chunk], at_ms: int) -> list[Alert]:
        offsets = [int(chunk.offset[-1]) for chunk in chunks if len(chunk)]
        if not offsets:
            return []
        with self._lock:
            alerts = self._log.add(chunks, at_ms)
            self.positions[part.partition] = offsets[-1] + 1
        return alerts

    def log_ends(self) -> dict[tuple[str, int], int]:
        """Return the ends of all partitions that groups have committed.

        Raises:
            OSError: The cluster can't be queried.
        """
        topics = tuple(sorted({topic for group in self._log.groups.values() for topic, _ in group.committed}))
        if not topics:
            return {}
        if self._topics is None or self._topics[0] != topics:
            self._topics = (topics, self._cluster.metadata(topics))
        about, self._topics = self._topics[1], None  # requested again after an error
        ends = self._cluster.offsets(about, LATEST, READ_UNCOMMITTED)
        if len(ends) == sum(len(topic.partitions) for topic in about.topics):
            self._topics = (topics, about)  # no leader has changed
        return ends

    def close(self) -> None:
        self._cluster.close()


@dataclass
class ReportProcess:
    """Reports by `kohort analyze`, one at a time."""

    command: Sequence[str]
    out: Path
    process: subprocess.Popen[bytes] | None = None
    started_s: float = 0.0
    took_s: float = 0.0

    def start(self) -> None:
        """Start a report unless one is being made."""
        if self.process is not None:
            return
        self.out.mkdir(parents=True, exist_ok=True)
        self.started_s = time.monotonic()
        with (self.out / "report.log").open("wb") as log:
            self.process = subprocess.Popen(
                self.command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=log, start_new_session=True
            )

    def finished(self, timeout_s: float = 0.0) -> bool:
        """Return whether a report has just been finished; the process is removed then.

        Raises:
            WireError: The report failed.
        """
        if self.process is None:
            return False
        try:
            code = self.process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            return False
        self.process, self.took_s = None, time.monotonic() - self.started_s
        if code:
            lines = (self.out / "report.log").read_text(errors="replace").strip().splitlines()
            raise WireError(lines[-1] if lines else f"exit code {code}")
        return True

    def stop(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait()


def report_command(address: str, places: Sequence[Path], out: Path, name: str, config: Path | None) -> list[str]:
    """Return the command that analyzes the last hour."""
    command = [sys.executable, "-m", "kohort", "analyze", address, *map(str, places), "--engine", "local"]
    command += ["--last", "1h", "--out", str(out), "--name", name]
    return command + (["--command-config", str(config)] if config is not None else [])


def follow_log(
    address: str,
    out: Path,
    reports: ReportProcess,
    say: Callable[[str], None],
    print_line: Callable[[str], None],
    metrics: FollowMetrics,
    *,
    until: Callable[[], bool],
    report_requested: Callable[[], bool] = lambda: False,
    security: Security = OPEN,
    notify: Callable[[Message], None] = lambda _: None,
    places: Sequence[Path] = (),
    every_s: float = REPORT_S,
) -> None:
    """Follow a cluster until `until` returns True, and make a last report.

    Args:
        address: Bootstrap address.
        out: Output folder.
        reports: Makes reports.
        say: Prints progress.
        print_line: Prints alerts, and warnings that are new in a report.
        metrics: Metrics to update; those of groups are registered with it.
        report_requested: Returns whether a report was requested since the last call.
        notify: Receives the same alerts as `print_line`.
        places: Text logs and event logs, or folders of them, to follow together with the cluster.
        every_s: Interval of reports.
    """
    state = out / "follow.json"
    saved = json.loads(state.read_text()) if state.exists() else {}
    log, ends, lock = GroupLog(saved.get("groups")), LogEnds(), Lock()
    positions = {int(part): offset for part, offset in saved.get("positions", {}).items()}
    silver = out / "tables" / "silver"
    files = FollowedFiles(list(places), silver, out / "checkpoints" / "files.json") if places else None
    news, once, of_reports = NewFindings(), ErrorLog(say), ErrorLog(say)

    def tell(message: Message) -> None:
        print_line(alert_line(message))
        notify(message)
        metrics.alert(message)

    def known_groups(since: Mapping[str, int]) -> dict[str, KnownGroup]:
        with lock:
            groups = log.known_groups(since)
        if files is None:
            return groups
        generations = {name: group.generation_ms for name, group in groups.items()}
        for name, (started_ms, waited_for) in LastGenerations(silver).read_events(since, generations).items():
            groups[name] = replace(groups.get(name, KnownGroup()), started_ms=started_ms, waited_for=waited_for)
        return groups

    def save() -> None:
        with lock:
            text = json.dumps({"positions": positions, "groups": log.saved()})
        replace_text(state, text)

    def take_report(hear: Callable[[Message], None], timeout_s: float = 0.0) -> None:
        try:
            if not reports.finished(timeout_s):
                return
        except WireError as error:
            of_reports.add(f"no report was made: {error}")
            return
        findings = json.loads((reports.out / "findings.json").read_text())
        metrics.report(((row["group"], row["rule"], row["severity"]) for row in findings), reports.took_s)
        metrics.groups(figures_of(reports.out / "tables" / "gold"))
        for message in news.among(findings, now_ms()):
            hear(message)

    polls = 0
    poll_s = ends_s = report_s = float("-inf")
    save_s = time.monotonic()
    with (
        closing(LogReader(address, security, log, positions, lock)) as reader,
        telling(address, tell, security) as alerts,
        watching_groups(address, known_groups, alerts.hear, say, security) as rebalances,
        following_files(files, say),
    ):
        metrics.registry.register(GroupMetrics(log, ends, lambda: rebalances.states, now_ms, lock))
        try:
            while not until():
                now_s = time.monotonic()
                if now_s - poll_s >= POLL_S:
                    poll_s = now_s
                    try:
                        for alert in reader.poll(now_ms()):
                            alerts.hear_of_silences(Message.of(alert))
                        if now_s - ends_s >= ENDS_S:
                            ends_s, sample = now_s, reader.log_ends()
                            with lock:
                                ends.add(now_ms(), sample)
                    except OSError as error:
                        metrics.stream(STREAM, False, polls)
                        once.add(f"{error}; trying again every {POLL_S:.0f} s")
                    else:
                        polls += 1
                        metrics.stream(STREAM, True, polls)
                        once.recovered()
                metrics.open_rebalances(rebalances.reported)
                metrics.file_events(files.events if files is not None else 0)
                if polls and (report_requested() or now_s - report_s >= every_s):
                    report_s = now_s
                    reports.start()
                take_report(alerts.hear)
                if now_s - save_s >= SAVE_S:
                    save_s = now_s
                    save()
                time.sleep(LOOK_S)
            if polls:
                save()
                reports.start()
                take_report(alerts.hear, timeout_s=600.0)
        finally:
            reports.stop()
