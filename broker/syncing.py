"""What is acknowledged is on the disk: answers that wait for a sync, and syncs that serve all who wait.

One sync runs at a time, in threads of its own. Whoever writes meanwhile is served by the next one, all together: so
the slower the disk is, the more answers a sync brings. After a sync that failed nobody knows what is on the disk, and
asking once more would not tell (the system forgets what it could not write): nothing is written any more until a
restart.
Source of the setting: Kafka's `log.flush.interval.messages=1` (always) and `log.flush.interval.ms` (interval).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Protocol

from kohort.broker.logs import log
from kohort.purgatory import DelayedOperation

if TYPE_CHECKING:
    import asyncio

    from kohort.broker.cluster import Cluster
    from kohort.storage.disk.files import Disk, Unsynced
    from kohort.storage.topics import Partition

NEVER, INTERVAL, ALWAYS = "never", "interval", "always"
"""When what was written is synced: when the system likes to, now and then, before it is acknowledged."""

FILES_AT_ONCE = 4
"""A file system writes its journal once for several syncs that come together."""

Report = Callable[[int, OSError | None], None]
"""Told the time, and why it is not on the disk if it is not."""


class Threads(Protocol):
    """Where syncs run."""

    def run(self, work: Callable[[], None], done: Callable[[OSError | None], None]) -> None:
        """Runs `work` elsewhere, and later `done` here, with what it raised."""
        ...


class Syncs:
    """The syncs of a cluster."""

    def __init__(self, cluster: Cluster, disk: Disk, threads: Threads, soon: Callable[[Callable[[], None]], object]):
        """`soon` runs something when the requests that have come together are through."""
        self.failed: OSError | None = None
        """Why nothing may be written any more."""
        self.act: Callable[[Callable[[int], None]], None] = lambda action: action(cluster.clock.now_ms())
        """Does something together with what follows from it (`Server.act`)."""
        self._cluster = cluster
        self._disk = disk
        self._threads = threads
        self._soon = soon
        self._written: dict[Partition, int] = {}
        self._waiting: list[Report] = []
        self._busy = False

    def appended(self, partition: Partition) -> None:
        """Something was appended, which is read once it is synced."""
        self._written[partition] = partition.log.log_end_offset
        self._begin_soon()

    def after(self, report: Report) -> None:
        """Calls `report` once everything that was written so far is synced, or is known not to be."""
        self._waiting.append(report)
        self._begin_soon()

    def begin(self) -> None:
        """Syncs what is to be synced, if anything."""
        self._begin_soon()

    def _begin_soon(self) -> None:
        if not self._busy:
            self._busy = True
            self._soon(self._run)

    def _run(self) -> None:
        files = self._disk.take_unsynced()
        written, self._written = self._written, {}
        waiting, self._waiting = self._waiting, []
        self._threads.run(
            lambda: sync_all(files),
            lambda problem: self.act(lambda now_ms: self._done(written, waiting, problem, now_ms)),
        )

    def _done(self, written: dict[Partition, int], waiting: list[Report], problem: OSError | None, now_ms: int) -> None:
        self._busy = False
        if problem is not None and self.failed is None:
            self.failed = problem
            log.warning(
                f"the disk does not keep what is written to it: {problem.strerror or problem}; nothing is written any "
                "more, what is there can be read; see to the disk and start again"
            )
        if problem is None:
            for partition, end_offset in written.items():
                partition.log.synced(end_offset)
                self._cluster.purgatory.check(partition, now_ms)
        for report in waiting:
            report(now_ms, problem)
        if self._written or self._waiting:
            self._begin_soon()


class SyncThreads:
    """Threads of the process; see `Threads`."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._first = ThreadPoolExecutor(1, "sync")

    def run(self, work: Callable[[], None], done: Callable[[OSError | None], None]) -> None:
        """See `Threads`."""

        def whole() -> None:
            problem = None
            try:
                work()
            except OSError as raised:
                problem = raised
            self._loop.call_soon_threadsafe(done, problem)

        self._first.submit(whole)

    def stop(self) -> None:
        """Waits for the one that runs."""
        self._first.shutdown()


def sync_all(files: Sequence[Unsynced]) -> None:
    """Syncs files, several at a time where there are several. Raises OSError."""
    if len(files) <= 1:
        for each in files:
            each.sync()
        return
    with ThreadPoolExecutor(min(FILES_AT_ONCE, len(files)), "sync") as threads:
        for done in [threads.submit(each.sync) for each in files]:
            done.result()


class SyncNowAndThen(DelayedOperation):
    """Begins a sync every `interval_ms`, for as long as the cluster lives."""

    __slots__ = ("_cluster", "_interval_ms", "_syncs")

    def __init__(self, cluster: Cluster, syncs: Syncs, interval_ms: int) -> None:
        super().__init__(0)
        self._cluster = cluster
        self._syncs = syncs
        self._interval_ms = interval_ms

    def wait(self, now_ms: int) -> None:
        """Comes due one interval from now."""
        self.deadline_ms = now_ms + self._interval_ms
        self.completed = False
        self._cluster.purgatory.wait(self)

    def on_complete(self, now_ms: int, *, expired: bool) -> None:
        """Syncs, and comes back."""
        self._syncs.begin()
        self.wait(now_ms)
