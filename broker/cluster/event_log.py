"""`--event-log DIR`: group events as files of JSON lines (offsets-topic §9.4), for `kohort analyze` and others.

A file bears its final name only when it is complete: whoever watches the directory never sees half of one.

Left out on purpose: events as a topic, which would make the broker a client of itself, and packing files.
"""

from __future__ import annotations

import fcntl
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kohort.broker.cluster.effects import perform
from kohort.broker.cluster.group_events import EventLogError
from kohort.broker.logs import log
from kohort.coordinator.events import COLUMNS
from kohort.purgatory import DelayedOperation

if TYPE_CHECKING:
    from io import FileIO

    from kohort.broker.cluster.cluster import Cluster
    from kohort.broker.cluster.group_events import Recorded

SCHEMA = 1
"""Raised when a column changes its meaning; new columns do not."""

ROLL_AFTER_MS = 600_000
ROLL_BYTES = 64 << 20
WRITE_AFTER_S = 0.25
"""How long events wait to be written, so that a rebalance is one write and in nobody's way. A crash loses as much."""

OPEN = ".open"

Later = Callable[[float, Callable[[], None]], object]
"""`call_later` of an event loop: seconds, and what to do then."""


class EventLog:
    """Listens to a cluster's group events, and keeps a file for each node that has any."""

    def __init__(self, cluster: Cluster, directory: Path, later: Later) -> None:
        self._cluster = cluster
        self._directory = directory
        self._later = later
        self._waiting: list[Recorded] = []
        self._files: dict[int, _File] = {}
        self._numbers: dict[int, int] = {}
        self._lost = 0
        """Events that could not be written since the last one that could."""

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
        """Writes what waits, and gives every file its final name."""
        self._cluster.group_events.leave(self._hear)
        self.flush()
        for node_id in list(self._files):
            self.roll(node_id)

    def flush(self) -> None:
        """Writes what waits."""
        waiting, self._waiting = self._waiting, []
        lines: dict[tuple[int, str], list[bytes]] = {}
        for recorded in waiting:
            try:
                line = line_of(recorded)
            except Exception:  # the others are written all the same
                log.error(f"a group event cannot be written: {recorded}")
            else:
                lines.setdefault((recorded.node_id, recorded.boot_id), []).append(line)
        for (node_id, boot_id), of_node in lines.items():
            try:
                self._file(node_id, boot_id).write(b"".join(of_node))
            except OSError as problem:
                self._failed(problem, len(of_node))
            else:
                self._recovered()
                if self._files[node_id].size >= ROLL_BYTES:
                    self.roll(node_id)

    def roll(self, node_id: int) -> None:
        """A node's file is complete; its next event begins another one."""
        file = self._files.pop(node_id, None)
        if file is not None:
            try:
                file.finish()
            except OSError as problem:
                log.error(f"{file.path} could not be given its final name: {problem.strerror}", problem)

    def _hear(self, recorded: Recorded) -> None:
        self._waiting.append(recorded)
        if len(self._waiting) == 1:
            self._later(WRITE_AFTER_S, self.flush)

    def _file(self, node_id: int, boot_id: str) -> _File:
        file = self._files.get(node_id)
        if file is None:
            number = self._numbers.get(node_id, 0) + 1
            file = _File(self._directory / f"group-events-{node_id}-{boot_id}-{number}.jsonl{OPEN}")
            self._files[node_id], self._numbers[node_id] = file, number
            deadline_ms = self._cluster.clock.now_ms() + ROLL_AFTER_MS
            self._cluster.purgatory.wait(_RollTimer(deadline_ms, self, node_id, file))
        return file

    def is_current(self, node_id: int, file: _File) -> bool:
        """Whether a node's events still go to this file."""
        return self._files.get(node_id) is file

    def _failed(self, problem: OSError, count: int) -> None:
        if not self._lost:
            log.warning(
                f"group events are being lost: {self._directory}: {problem.strerror}. kohort serves on; make room there"
            )
        self._lost += count

    def _recovered(self) -> None:
        if self._lost:
            log.warning(f"group events are written to {self._directory} again; {self._lost} were lost")
            self._lost = 0


@contextmanager
def written(cluster: Cluster, directory: Path, later: Later) -> Iterator[EventLog]:
    """A cluster's events are, until the end of the context, which is the end of the cluster. Raises EventLogError."""
    events = EventLog(cluster, directory, later)
    events.open()
    try:
        yield events
    finally:
        cluster.group_events.stopping()
        perform(cluster, cluster.clock.now_ms())
        events.close()


class _File:
    """One file while it is written. Locked, so that no other process takes it for one that was left behind."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.size = 0
        self._raw: FileIO = open(path, "xb", buffering=0)  # noqa: SIM115 - it lives as long as this object
        fcntl.flock(self._raw, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def write(self, lines: bytes) -> None:
        """All of these, or, where that fails, nothing."""
        left = memoryview(lines)
        try:
            while left:
                left = left[self._raw.write(left) :]
        except OSError:
            self._raw.truncate(self.size)
            self._raw.seek(self.size)
            raise
        self.size += len(lines)

    def finish(self) -> None:
        """Takes `.open` off its name; a file without a line goes."""
        self._raw.close()
        if self.size:
            self.path.rename(self.path.with_suffix(""))
        else:
            self.path.unlink()


class _RollTimer(DelayedOperation):
    """A file has been open long enough."""

    __slots__ = ("_event_log", "_file", "_node_id")

    def __init__(self, deadline_ms: int, event_log: EventLog, node_id: int, file: _File) -> None:
        super().__init__(deadline_ms)
        self._event_log = event_log
        self._node_id = node_id
        self._file = file

    def on_complete(self, now_ms: int, *, expired: bool) -> None:
        """Unless it was full before."""
        if self._event_log.is_current(self._node_id, self._file):
            self._event_log.flush()
            self._event_log.roll(self._node_id)


def finish_left_over(directory: Path) -> None:
    """Files that a process which is gone did not finish: they are as complete as they will ever be."""
    for path in sorted(directory.glob(f"group-events-*.jsonl{OPEN}")):
        with path.open("rb") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                continue  # another broker writes it
            path.rename(path.with_suffix(""))


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
