"""Syncs to disk before responses are sent; one sync serves all responses that wait.

One sync runs at a time, in threads of its own. The next one serves all writes made meanwhile: so the slower the disk,
the more responses one sync serves. After a failed sync the contents of the disk are unknown, and retrying would not
help (the system discards what it could not write): nothing is written any more until a restart. Source of the setting:
Kafka's `log.flush.interval.messages=1` (always) and `log.flush.interval.ms` (interval).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from errno import EIO
from threading import Lock
from typing import TYPE_CHECKING, Protocol

from kohort.base.logs import log
from kohort.purgatory import DelayedOperation

if TYPE_CHECKING:
    import asyncio

    from kohort.broker.cluster.shared_state import SharedState
    from kohort.storage.disk.files import Disk, Unsynced
    from kohort.storage.topic import Partition

# When writes are synced: by the operating system, at intervals, or before they are acknowledged.
NEVER, INTERVAL, ALWAYS = "never", "interval", "always"

FILES_AT_ONCE = 8
"""A file system writes its journal once for several concurrent syncs: 16 files one by one took 4 to 10 ms, by 8 threads
half a millisecond.
"""

Report = Callable[[int, OSError | None], None]  # called with the time, and the error if the write is not on the disk


class Threads(Protocol):
    """Executor of syncs."""

    def sync(self, files: Sequence[Unsynced], on_synced: Callable[[OSError | None], None]) -> None:
        """Sync files in other threads, then call `on_synced` in this one, with the error if one failed."""
        ...


class Syncs:
    """The syncs of a cluster."""

    def __init__(self, state: SharedState, disk: Disk, threads: Threads, soon: Callable[[Callable[[], None]], object]):
        """Create the syncs.

        Args:
            soon: Schedules a callback after the current batch of requests.
        """
        # calls a function and executes its effects (`Server.act`)
        self.act: Callable[[Callable[[int], None]], None] = lambda action: action(state.clock.now_ms())
        self._state = state
        self._disk = disk
        self._threads = threads
        self._soon = soon
        self._written: dict[Partition, int] = {}
        self._waiting: list[Report] = []
        self._busy = False

    def appended(self, partition: Partition) -> None:
        """Note an append, which consumers can read after it is synced."""
        self._written[partition] = partition.log.log_end_offset
        self.begin()

    def after(self, report: Report) -> None:
        """Call `report` after everything written so far is synced, or has failed to."""
        self._waiting.append(report)
        self.begin()

    def noted(self) -> bool:
        """Return whether something outside of logs was written since the last call: topics, ids, log start offsets."""
        directory = self._state.directory
        return directory is not None and directory.take_noted()

    def begin(self) -> None:
        """Start a sync of pending writes, if any, after the current batch of requests."""
        if not self._busy:
            self._busy = True
            self._soon(self._run)

    def _run(self) -> None:
        files = self._disk.take_unsynced()
        written, self._written = self._written, {}
        waiting, self._waiting = self._waiting, []
        self._threads.sync(
            files, lambda error: self.act(lambda now_ms: self._on_synced(written, waiting, error, now_ms))
        )

    def _on_synced(
        self, written: dict[Partition, int], waiting: list[Report], error: OSError | None, now_ms: int
    ) -> None:
        self._busy = False
        state = self._state
        if error is not None and state.broken is None:
            state.broken = error
            if state.directory is not None:
                state.directory.trusted = False
            log.warning(
                f"the disk may have lost writes: {error.strerror or error}; kohort is read-only "
                "until it is restarted; check the disk and restart it"
            )
        # A later sync may succeed, but the data of the failed one may be lost.
        error = state.broken
        if error is None:
            for partition, end_offset in written.items():
                partition.log.synced(end_offset)
                state.purgatory.check(partition, now_ms)
        for report in waiting:
            try:
                report(now_ms, error)
            except Exception:  # the other callbacks are called all the same
                log.error("the callback after a sync failed")
        if self._written or self._waiting:
            self.begin()


class SyncThreads:
    """Threads of the process."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._pool = ThreadPoolExecutor(FILES_AT_ONCE, "sync")
        self._stopped = False

    def sync(self, files: Sequence[Unsynced], on_synced: Callable[[OSError | None], None]) -> None:
        """Sync files in parallel. After `stop` nothing is synced, and `on_synced` is not called."""
        if self._stopped:
            return
        shares = [files[number::FILES_AT_ONCE] for number in range(min(FILES_AT_ONCE, len(files)))]
        running = [self._pool.submit(_sync, share) for share in shares]
        unfinished = len(running)
        lock = Lock()

        def one_less(_: object) -> None:
            nonlocal unfinished
            with lock:
                unfinished -= 1
                if unfinished:
                    return
            problems = [error for future in running if (error := future.result()) is not None]
            self._loop.call_soon_threadsafe(on_synced, problems[0] if problems else None)

        if not running:
            self._loop.call_soon(on_synced, None)
        for future in running:
            future.add_done_callback(one_less)

    def stop(self) -> None:
        self._stopped = True
        self._pool.shutdown()


def _sync(files: Sequence[Unsynced]) -> OSError | None:
    try:
        for file in files:
            file.sync()
    except OSError as error:
        return error
    except Exception as error:  # a bug in kohort, which must be reported to those that wait
        return OSError(EIO, f"syncing failed: {error!r}")
    return None


class SyncNowAndThen(DelayedOperation):
    """Starts a sync every `interval_ms`."""

    __slots__ = ("_interval_ms", "_state", "_syncs")

    def __init__(self, state: SharedState, syncs: Syncs, interval_ms: int) -> None:
        super().__init__(0)
        self._state = state
        self._syncs = syncs
        self._interval_ms = interval_ms

    def wait(self, now_ms: int) -> None:
        self.deadline_ms = now_ms + self._interval_ms
        self.completed = False
        self._state.purgatory.wait(self)

    def on_complete(self, now_ms: int, *, expired: bool) -> None:
        self.wait(now_ms)
        self._syncs.begin()
