"""`kohort follow` in one process: reads the offsets topic as it grows, and keeps the state of each group in memory.

The state is saved every minute with the positions in the log, so that counters continue after a restart. Reports are
made by `kohort analyze` in a child process, which reads the last hour from the cluster again and releases its memory.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from threading import Lock

from kohort.client.security import OPEN, Security
from kohort.pipeline.job.error_log import ErrorLog
from kohort.pipeline.job.follow_output import FollowOutput
from kohort.pipeline.job.following_files import FollowedFiles, following_files
from kohort.pipeline.job.rebalance_poller import watching_groups
from kohort.pipeline.job.report_process import ReportLoop, ReportProcess
from kohort.pipeline.job.telling import Telling, now_ms, telling
from kohort.pipeline.live.follow_metrics import FollowMetrics
from kohort.pipeline.live.group_log import GroupLog
from kohort.pipeline.live.group_metrics import GroupMetrics
from kohort.pipeline.live.last_generations import LastGenerations
from kohort.pipeline.live.sampled_ends import LogEnds
from kohort.pipeline.live.tracker import Alert, Watched
from kohort.pipeline.live.waited_for import KnownGroup
from kohort.pipeline.live.watching import extended
from kohort.pipeline.live.webhook import Message
from kohort.pipeline.rules.finding import listed
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
from kohort.protocol.errors import ErrorCode
from kohort.protocol.messages.metadata import MetadataResponse

POLL_S, LOOK_S = 5.0, 0.5
ENDS_S, SAVE_S = 30.0, 60.0  # intervals of log ends and of saving the state
REPORT_S = 300.0
LAST_REPORT_S = 600.0  # timeout of the report at the end
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
        self.denied_topics: list[str] = []  # topics without log ends, because the user may not describe them
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
        denied = (topic for topic in about.topics if topic.error_code is ErrorCode.topic_authorization_failed)
        self.denied_topics = sorted(topic.name or "" for topic in denied)
        ends = self._cluster.offsets(about, LATEST, READ_UNCOMMITTED)
        if len(ends) == sum(len(topic.partitions) for topic in about.topics) and not self.denied_topics:
            self._topics = (topics, about)  # no leader and no permission has changed
        return ends

    def close(self) -> None:
        self._cluster.close()


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
    silver = out / "tables" / "silver"
    files = FollowedFiles(list(places), silver, out / "checkpoints" / "files.json") if places else None
    state, output = FollowedState(out / "follow.json"), FollowOutput(print_line, notify, metrics)
    with (
        closing(LogReader(address, security, state.log, state.positions, state.lock)) as reader,
        telling(address, output.send, security) as alerts,
        watching_groups(
            address, GroupLookup(state, silver, files), alerts.hear, say, security, state.group_names
        ) as rebalances,
        following_files(files, say),
    ):
        metrics.registry.register(GroupMetrics(state.log, state.ends, lambda: rebalances.states, now_ms, state.lock))
        log_poll = LogPoll(reader, state, alerts, metrics, say)
        report_loop = ReportLoop(reports, output, rebalances, alerts, say)
        try:
            while not until():
                log_poll.run_if_due()
                output.measure(rebalances, files)
                if log_poll.count and (report_requested() or report_loop.is_due(every_s)):
                    report_loop.start()
                report_loop.take_finished()
                state.save_if_due()
                time.sleep(LOOK_S)
            if log_poll.count:
                state.save()
                report_loop.start()
                report_loop.take_finished(timeout_s=LAST_REPORT_S)
        finally:
            reports.stop()


class FollowedState:
    """State in memory, which a file keeps for the next start."""

    def __init__(self, path: Path) -> None:
        self._path = path
        saved = json.loads(path.read_text()) if path.exists() else {}
        self.log, self.ends = GroupLog(saved.get("groups")), LogEnds()
        self.positions = {int(part): offset for part, offset in saved.get("positions", {}).items()}
        self.lock = Lock()  # held while the other attributes change, because metrics and alerts have other threads
        self._saved_s = time.monotonic()

    def group_names(self) -> list[str]:
        with self.lock:
            return sorted(self.log.groups)

    def save_if_due(self) -> None:
        if time.monotonic() - self._saved_s >= SAVE_S:
            self.save()

    def save(self) -> None:
        self._saved_s = time.monotonic()
        with self.lock:
            state = {"positions": dict(self.positions), "groups": self.log.saved()}
        replace_text(self._path, json.dumps(state))


class GroupLookup:
    """What log and files show about groups with an open rebalance."""

    def __init__(self, state: FollowedState, silver: Path, files: FollowedFiles | None) -> None:
        self._state = state
        self._generations = LastGenerations(silver) if files is not None else None

    def __call__(self, since: Mapping[str, int]) -> dict[str, KnownGroup]:
        with self._state.lock:
            groups = self._state.log.known_groups(since)
        if self._generations is None:
            return groups
        generations = {name: group.generation_ms for name, group in groups.items()}
        for name, (started_ms, waited_for) in self._generations.read_events(since, generations).items():
            groups[name] = replace(groups.get(name, KnownGroup()), started_ms=started_ms, waited_for=waited_for)
        return groups


class LogPoll:
    """Polls the log every POLL_S seconds, and log ends every ENDS_S seconds. Errors are printed once and retried."""

    def __init__(
        self, reader: LogReader, state: FollowedState, alerts: Telling, metrics: FollowMetrics,
        say: Callable[[str], None], now_ms: Callable[[], int] = now_ms, elapsed_s: Callable[[], float] = time.monotonic,
    ) -> None:  # fmt: skip
        self._reader, self._state, self._alerts, self._metrics = reader, state, alerts, metrics
        self._now_ms, self._elapsed_s = now_ms, elapsed_s
        self._errors, self._denied = ErrorLog(say), ErrorLog(say, "the lag of all topics is visible again")
        self._polled_s = self._ends_s = float("-inf")
        self.count = 0  # of successful polls

    def run_if_due(self) -> None:
        now_s = self._elapsed_s()
        if now_s - self._polled_s < POLL_S:
            return
        self._polled_s = now_s
        try:
            self._poll(now_s)
        except OSError as error:
            self._metrics.stream(STREAM, False, self.count)
            self._errors.add(f"{error}; trying again every {POLL_S:.0f} s")
        else:
            self.count += 1
            self._metrics.stream(STREAM, True, self.count)
            self._errors.recovered()

    def _poll(self, now_s: float) -> None:
        for alert in self._reader.poll(self._now_ms()):
            self._alerts.hear_of_silences(Message.of(alert))
        if now_s - self._ends_s >= ENDS_S:
            sample = self._reader.log_ends()
            self._ends_s = now_s
            with self._state.lock:
                self._state.ends.add(self._now_ms(), sample)
            if topics := self._reader.denied_topics:
                self._denied.add(f"no lag in {listed(topics)}: that needs Describe on the topic")
            else:
                self._denied.recovered()
