"""What is acknowledged is on the disk: answers that wait for a sync, and syncs that serve all who wait.

One sync runs at a time, in threads of its own. Whoever writes meanwhile is served by the next one, all together: so
the slower the disk is, the more answers a sync brings. After a sync that failed nobody knows what is on the disk, and
asking once more would not help (the system forgets what it could not write): nothing is written any more until a
restart.
Source of the setting: Kafka's `log.flush.interval.messages=1` (always) and `log.flush.interval.ms` (interval).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from errno import EIO
from threading import Lock
from typing import TYPE_CHECKING, Protocol

from kohort.broker.logs import log
from kohort.purgatory import DelayedOperation

if TYPE_CHECKING:
    import asyncio

    from kohort.broker.cluster.shared_state import SharedState
    from kohort.storage.disk.files import Disk, Unsynced
    from kohort.storage.topic import Partition

NEVER, INTERVAL, ALWAYS = "never", "interval", "always"
"""When what was written is synced: when the system likes to, now and then, before it is acknowledged."""

FILES_AT_ONCE = 8
"""A file system writes its journal once for several syncs that come together: 16 files one after the other took 4 to
10 ms, by 8 threads half a millisecond."""

Report = Callable[[int, OSError | None], None]
"""Called with the time, and with the error if it is not on the disk."""


class Threads(Protocol):
    """Where syncs run."""

    def sync(self, files: Sequence[Unsynced], done: Callable[[OSError | None], None]) -> None:
        """Syncs them elsewhere, and later calls `done` here, with why one of them could not be if so."""
        ...


class Syncs:
    """The syncs of a cluster."""

    def __init__(self, state: SharedState, disk: Disk, threads: Threads, soon: Callable[[Callable[[], None]], object]):
        """`soon` runs something when the requests that have come together are through."""
        self.act: Callable[[Callable[[int], None]], None] = lambda action: action(state.clock.now_ms())
        """Does something together with what follows from it (`Server.act`)."""
        self._state = state
        self._disk = disk
        self._threads = threads
        self._soon = soon
        self._written: dict[Partition, int] = {}
        self._waiting: list[Report] = []
        self._busy = False

    def appended(self, partition: Partition) -> None:
        """Something was appended, which is read once it is synced."""
        self._written[partition] = partition.log.log_end_offset
        self.begin()

    def after(self, report: Report) -> None:
        """Calls `report` once everything that was written so far is synced, or is known not to be."""
        self._waiting.append(report)
        self.begin()

    def noted(self) -> bool:
        """Whether something beside the logs was written since the last time: topics, ids, where logs start."""
        directory = self._state.directory
        return directory is not None and directory.take_noted()

    def begin(self) -> None:
        """Syncs what is to be synced, if anything, when the requests that have come together are through."""
        if not self._busy:
            self._busy = True
            self._soon(self._run)

    def _run(self) -> None:
        files = self._disk.take_unsynced()
        written, self._written = self._written, {}
        waiting, self._waiting = self._waiting, []
        self._threads.sync(
            files, lambda problem: self.act(lambda now_ms: self._done(written, waiting, problem, now_ms))
        )

    def _done(self, written: dict[Partition, int], waiting: list[Report], problem: OSError | None, now_ms: int) -> None:
        self._busy = False
        state = self._state
        if problem is not None and state.broken is None:
            state.broken = problem
            if state.directory is not None:
                state.directory.trusted = False
            log.warning(
                f"the disk does not keep what is written to it: {problem.strerror or problem}; nothing is written any "
                "more, what is there can be read; see to the disk and start again"
            )
        # A later sync may succeed, and says nothing of what the failed one should have kept.
        problem = state.broken
        if problem is None:
            for partition, end_offset in written.items():
                partition.log.synced(end_offset)
                state.purgatory.check(partition, now_ms)
        for report in waiting:
            try:
                report(now_ms, problem)
            except Exception:  # whoever waits beside it is called all the same
                log.error("reporting that something is on the disk failed")
        if self._written or self._waiting:
            self.begin()


class SyncThreads:
    """Threads of the process; see `Threads`."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._pool = ThreadPoolExecutor(FILES_AT_ONCE, "sync")
        self._stopped = False

    def sync(self, files: Sequence[Unsynced], done: Callable[[OSError | None], None]) -> None:
        """See `Threads`. After `stop` nothing is synced, and `done` is not called: nobody is left to be answered."""
        if self._stopped:
            return
        shares = [files[number::FILES_AT_ONCE] for number in range(min(FILES_AT_ONCE, len(files)))]
        running = [self._pool.submit(_sync, share) for share in shares]
        left = len(running)
        lock = Lock()

        def one_less(_: object) -> None:
            nonlocal left
            with lock:
                left -= 1
                if left:
                    return
            problems = [problem for each in running if (problem := each.result()) is not None]
            self._loop.call_soon_threadsafe(done, problems[0] if problems else None)

        if not running:
            self._loop.call_soon(done, None)
        for each in running:
            each.add_done_callback(one_less)

    def stop(self) -> None:
        """Waits for those that run; none begins any more."""
        self._stopped = True
        self._pool.shutdown()


def _sync(files: Sequence[Unsynced]) -> OSError | None:
    """Syncs one after the other; returns why one could not be."""
    try:
        for each in files:
            each.sync()
    except OSError as problem:
        return problem
    except Exception as problem:  # our bug: whoever waits for the disk must hear of it all the same
        return OSError(EIO, f"syncing failed: {problem!r}")
    return None


class SyncNowAndThen(DelayedOperation):
    """Begins a sync every `interval_ms`, for as long as the cluster lives."""

    __slots__ = ("_interval_ms", "_state", "_syncs")

    def __init__(self, state: SharedState, syncs: Syncs, interval_ms: int) -> None:
        super().__init__(0)
        self._state = state
        self._syncs = syncs
        self._interval_ms = interval_ms

    def wait(self, now_ms: int) -> None:
        """Comes due one interval from now."""
        self.deadline_ms = now_ms + self._interval_ms
        self.completed = False
        self._state.purgatory.wait(self)

    def on_complete(self, now_ms: int, *, expired: bool) -> None:
        """Comes back later, and syncs."""
        self.wait(now_ms)
        self._syncs.begin()
