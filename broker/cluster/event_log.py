"""`--event-log DIR`: group events as files of JSON lines (offsets-topic §9.4), for `kohort analyze` and others.

A file bears its final name only when it is complete: whoever watches the directory never sees half of one. `serve`
writes from a thread (`event_files.py`), so that a slow disk costs events, which are counted, and nothing else.

Left out on purpose: events as a topic, which would make the broker a client of itself, and packing files.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kohort.broker.cluster.effect_execution import perform
from kohort.broker.cluster.event_files import EventFile, EventFiles, finish_left_over
from kohort.broker.cluster.group_events import EventLogError
from kohort.broker.logs import log
from kohort.broker.scheduling.worker_thread import JOBS_HERE, Jobs
from kohort.coordinator.events.group_event import COLUMNS
from kohort.purgatory import DelayedOperation

if TYPE_CHECKING:
    from kohort.broker.cluster.broker_cluster import BrokerCluster
    from kohort.broker.cluster.group_events import Recorded

SCHEMA = 1
"""Raised when a column changes its meaning; new columns do not."""

ROLL_AFTER_MS = 600_000
WRITE_AFTER_S = 0.25
"""How long events wait to be written, so that a rebalance is one write and in nobody's way. A crash loses as much."""
EVENTS_WAITING = 100_000
"""How many may wait for a slow disk. Further ones are lost, and counted."""

Later = Callable[[float, Callable[[], None]], object]
"""`call_later` of an event loop: seconds, and what to do then."""


class EventLog:
    """Listens to a cluster's group events, and has them written."""

    def __init__(self, cluster: BrokerCluster, directory: Path, later: Later, jobs: Jobs = JOBS_HERE) -> None:
        """`jobs`: where files are written; unless given, in the caller's thread."""
        self._cluster = cluster
        self._directory = directory
        self._later = later
        self._jobs = jobs
        self._files = EventFiles(directory)
        self._waiting: list[Recorded] = []
        self._being_written = 0
        self._lost = 0
        """Events that were not written since the last one that was."""

    def open(self) -> None:
        """Finishes what an earlier process left, and listens from now on. Raises EventLogError."""
        try:
            self._directory.mkdir(parents=True, exist_ok=True)
            finish_left_over(self._directory)
            probe = self._directory / f".group-events-{id(self)}"
            probe.touch()
            probe.unlink()
        except OSError as problem:
            raise EventLogError(
                f"cannot write group events to {self._directory}: {problem.strerror}; "
                "--event-log wants a directory that kohort may write to"
            ) from None
        self._cluster.group_events.listen(self._hear)

    def close(self) -> None:
        """Writes what waits, and gives every file its final name. Waits for a slow disk, but not for ever."""
        self._cluster.group_events.leave(self._hear)
        self.flush()
        self._jobs.run(self._finish)
        if not self._jobs.close():
            log.warning(f"{self._directory} is too slow: its last group events are lost, and names end in .open")

    def flush(self) -> None:
        """Has written what waits."""
        waiting, self._waiting = self._waiting, []
        if self._being_written + len(waiting) > EVENTS_WAITING:
            self._not_written("it is too slow", len(waiting))
            return
        by_node: dict[tuple[int, str], list[bytes]] = {}
        for recorded in waiting:
            try:
                line = line_of(recorded)
            except Exception:  # the others are written all the same
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

    # Where files are written, perhaps in another thread

    def _write(self, node_id: int, boot_id: str, lines: bytes, count: int) -> None:
        try:
            begun = self._files.write(node_id, boot_id, lines)
        except OSError as problem:
            self._jobs.hand_over(partial(self._done, count, problem))
        else:
            self._jobs.hand_over(partial(self._done, count, None))
            if begun is not None:
                self._jobs.hand_over(partial(self._roll_later, node_id, begun))

    def _roll(self, node_id: int, file: EventFile) -> None:
        try:
            self._files.roll(node_id, file)
        except OSError as problem:
            self._jobs.hand_over(partial(log.error, f"{file.path} could not be given its final name", problem))

    def _finish(self) -> None:
        for node_id, file in self._files.open_files():
            self._roll(node_id, file)

    # How it went

    def _roll_later(self, node_id: int, file: EventFile) -> None:
        deadline_ms = self._cluster.clock.now_ms() + ROLL_AFTER_MS
        self._cluster.purgatory.wait(_RollTimer(deadline_ms, self, node_id, file))

    def _done(self, count: int, problem: OSError | None) -> None:
        self._being_written -= count
        if problem is not None:
            self._not_written(problem.strerror or str(problem), count)
        elif self._lost:
            log.warning(f"group events are written to {self._directory} again; {self._lost} were lost")
            self._lost = 0

    def _not_written(self, why: str, count: int) -> None:
        if not self._lost:
            log.warning(f"group events are being lost: {self._directory}: {why}. kohort serves on; make room there")
        self._lost += count

    def roll(self, node_id: int, file: EventFile) -> None:
        """A node's file is complete; its next event begins another one."""
        self.flush()
        self._jobs.run(partial(self._roll, node_id, file))


@contextmanager
def written(cluster: BrokerCluster, directory: Path, later: Later, jobs: Jobs = JOBS_HERE) -> Iterator[EventLog]:
    """A cluster's events are, until the end of the context, which is the end of the cluster. Raises EventLogError."""
    events = EventLog(cluster, directory, later, jobs)
    events.open()
    try:
        yield events
    finally:
        cluster.group_events.stopping()
        perform(cluster, cluster.clock.now_ms())
        events.close()


class _RollTimer(DelayedOperation):
    """A file has been open long enough."""

    __slots__ = ("_event_log", "_file", "_node_id")

    def __init__(self, deadline_ms: int, event_log: EventLog, node_id: int, file: EventFile) -> None:
        super().__init__(deadline_ms)
        self._event_log = event_log
        self._node_id = node_id
        self._file = file

    def on_complete(self, now_ms: int, *, expired: bool) -> None:
        """Unless it was full before."""
        self._event_log.roll(self._node_id, self._file)


def row_of(recorded: Recorded) -> dict[str, Any]:
    """The row of offsets-topic §9.1; columns without a value are left out."""
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
    """The row as a line of JSON."""
    text = json.dumps(row_of(recorded), ensure_ascii=False, separators=(",", ":"), check_circular=False)
    return text.encode("utf-8", "replace") + b"\n"
