"""`--event-log DIR`: group events as files of JSON lines (offsets-topic §9.4), for `kohort analyze` and other tools.

A file gets its final name when it is complete, so that tools that watch the directory never read part of one. `serve`
writes in a thread (`event_files.py`): a slow disk delays no requests; events that cannot be written are counted.

Left out on purpose: events as a topic, which would make the broker a client of itself, and compressing files.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kohort.base.logs import log
from kohort.broker.cluster.effect_execution import perform
from kohort.broker.cluster.event_files import EventFile, EventFiles, finish_left_over
from kohort.broker.cluster.group_events import EventLogError
from kohort.broker.scheduling.worker_thread import JOBS_HERE, Jobs
from kohort.coordinator.events.group_event import COLUMNS
from kohort.purgatory import DelayedOperation

if TYPE_CHECKING:
    from kohort.broker.cluster.broker_cluster import BrokerCluster
    from kohort.broker.cluster.group_events import Recorded

SCHEMA = 1  # incremented when a column changes its meaning; not for new columns

ROLL_AFTER_MS = 600_000
# delay of a write, so that a rebalance is one write outside of its requests; a crash loses these events
WRITE_AFTER_S = 0.25
EVENTS_WAITING = 100_000  # maximum number of events that wait for a slow disk; others are dropped and counted

Later = Callable[[float, Callable[[], None]], object]  # `call_later` of an event loop: seconds, and the callback


class EventLog:
    """Listens to a cluster's group events, and writes them."""

    def __init__(self, cluster: BrokerCluster, directory: Path, later: Later, jobs: Jobs = JOBS_HERE) -> None:
        """Create an event log.

        Args:
            jobs: Executor of file operations; by default the caller's thread.
        """
        self._cluster = cluster
        self._directory = directory
        self._later = later
        self._jobs = jobs
        self._files = EventFiles(directory)
        self._waiting: list[Recorded] = []
        self._being_written = 0
        self._lost = 0  # events dropped since the last successful write

    def open(self) -> None:
        """Finish files of an earlier process, and start listening.

        Raises:
            EventLogError: If the directory cannot be written.
        """
        try:
            self._directory.mkdir(parents=True, exist_ok=True)
            finish_left_over(self._directory)
            probe = self._directory / f".group-events-{id(self)}"
            probe.touch()
            probe.unlink()
        except OSError as error:
            raise EventLogError(
                f"cannot write group events to {self._directory}: {error.strerror}; "
                "--event-log requires a writable directory"
            ) from None
        self._cluster.group_events.listen(self._hear)

    def close(self) -> None:
        """Write pending events, and give every file its final name. The wait for a slow disk is limited."""
        self._cluster.group_events.leave(self._hear)
        self.flush()
        self._jobs.run(self._finish)
        if not self._jobs.close():
            log.warning(
                f"{self._directory} is too slow: the last group events are lost, and files keep the suffix .open"
            )

    def flush(self) -> None:
        waiting, self._waiting = self._waiting, []
        if self._being_written + len(waiting) > EVENTS_WAITING:
            self._not_written("the disk is too slow", len(waiting))
            return
        by_node: dict[tuple[int, str], list[bytes]] = {}
        for recorded in waiting:
            try:
                line = line_of(recorded)
            except Exception:  # the other events are written all the same
                log.error(f"a group event cannot be written: {recorded}")
            else:
                by_node.setdefault((recorded.node_id, recorded.boot_id), []).append(line)
        for (node_id, boot_id), lines in by_node.items():
            self._being_written += len(lines)
            self._jobs.run(partial(self._write, node_id, boot_id, b"".join(lines), len(lines)))

    def _hear(self, recorded: Recorded) -> None:
        self._waiting.append(recorded)
        if len(self._waiting) == 1:
            self._later(WRITE_AFTER_S, self.flush)

    # Called where files are written, possibly in another thread

    def _write(self, node_id: int, boot_id: str, lines: bytes, count: int) -> None:
        try:
            begun = self._files.write(node_id, boot_id, lines)
        except OSError as error:
            self._jobs.hand_over(partial(self._on_written, count, error))
        else:
            self._jobs.hand_over(partial(self._on_written, count, None))
            if begun is not None:
                self._jobs.hand_over(partial(self._roll_later, node_id, begun))

    def _roll(self, node_id: int, file: EventFile) -> None:
        try:
            self._files.roll(node_id, file)
        except OSError as error:
            self._jobs.hand_over(partial(log.error, f"{file.path} could not be renamed to its final name", error))

    def _finish(self) -> None:
        for node_id, file in self._files.open_files():
            self._roll(node_id, file)

    # Results

    def _roll_later(self, node_id: int, file: EventFile) -> None:
        deadline_ms = self._cluster.clock.now_ms() + ROLL_AFTER_MS
        self._cluster.purgatory.wait(_RollTimer(deadline_ms, self, node_id, file))

    def _on_written(self, count: int, error: OSError | None) -> None:
        self._being_written -= count
        if error is not None:
            self._not_written(error.strerror or str(error), count)
        elif self._lost:
            log.warning(f"group events are written to {self._directory} again; {self._lost} events were lost")
            self._lost = 0

    def _not_written(self, reason: str, count: int) -> None:
        if not self._lost:
            log.warning(
                f"group events are lost: {self._directory}: {reason}; free space there; the broker runs all the same"
            )
        self._lost += count

    def roll(self, node_id: int, file: EventFile) -> None:
        self.flush()
        self._jobs.run(partial(self._roll, node_id, file))


@contextmanager
def written(cluster: BrokerCluster, directory: Path, later: Later, jobs: Jobs = JOBS_HERE) -> Iterator[EventLog]:
    """Write a cluster's events within the context, which ends with the cluster.

    Raises:
        EventLogError: If the directory cannot be written.
    """
    events = EventLog(cluster, directory, later, jobs)
    events.open()
    try:
        yield events
    finally:
        cluster.group_events.stopping()
        perform(cluster, cluster.clock.now_ms())
        events.close()


class _RollTimer(DelayedOperation):
    """The end of a file's maximum age."""

    __slots__ = ("_event_log", "_file", "_node_id")

    def __init__(self, deadline_ms: int, event_log: EventLog, node_id: int, file: EventFile) -> None:
        super().__init__(deadline_ms)
        self._event_log = event_log
        self._node_id = node_id
        self._file = file

    def on_complete(self, now_ms: int, *, expired: bool) -> None:
        self._event_log.roll(self._node_id, self._file)


def row_of(recorded: Recorded) -> dict[str, Any]:
    """Return the row of offsets-topic §9.1, without columns that have no value."""
    row: dict[str, Any] = {
        "v": SCHEMA,
        "event_id": recorded.event_id,
        "seq": recorded.seq,
        "boot_id": recorded.boot_id,
        "node_id": recorded.node_id,
    }
    event = recorded.event
    for name in COLUMNS:
        value = getattr(event, name)
        if value is not None:
            row[name] = value
    return row


def line_of(recorded: Recorded) -> bytes:
    text = json.dumps(row_of(recorded), ensure_ascii=False, separators=(",", ":"), check_circular=False)
    return text.encode("utf-8", "replace") + b"\n"
