"""Broker with a disk whose syncs a test completes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from kohort.broker.cluster.disk_syncing import Syncs
from kohort.storage.disk.directory import DataDirectory
from kohort.storage.disk.files import Disk, Unsynced
from tests.support.broker import Broker


class SlowThreads:
    """Threads that sync when a test calls `finish`."""

    def __init__(self) -> None:
        self.running: list[tuple[Sequence[Unsynced], Callable[[OSError | None], None]]] = []

    def sync(self, files: Sequence[Unsynced], done: Callable[[OSError | None], None]) -> None:
        self.running.append((files, done))

    def finish(self, problem: OSError | None = None) -> None:
        """Complete the current sync."""
        ((files, done),) = self.running
        self.running.clear()
        for file in files:
            file.sync()
        done(problem)


class OnSlowDisk(Broker):
    """A broker with a data directory and slow syncs."""

    def __init__(self, path: Path, *, always: bool = True) -> None:
        disk = Disk(keeps_unsynced=True)
        self.directory = DataDirectory(path, disk=disk, delays=always)
        super().__init__(directory=self.directory)
        self.threads = SlowThreads()
        self.syncs = Syncs(self.cluster, disk, self.threads, self.loop.call_soon)
        self.syncs.act = self.server.act
        if always:
            self.cluster.syncs = self.syncs

    def sync(self, problem: OSError | None = None) -> None:
        """Complete or fail the sync of everything written so far."""
        self.loop.run_soon()
        self.threads.finish(problem)
