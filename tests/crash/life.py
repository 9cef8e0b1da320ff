"""A broker on a disk, from its start to its end, without sockets, threads or a clock of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from io import StringIO
from pathlib import Path
from typing import Any
from unittest.mock import patch

from kohort.base.logs import log
from kohort.broker.cluster import disk_syncing
from kohort.broker.cluster.disk_syncing import ALWAYS, NEVER, SyncNowAndThen, Syncs
from kohort.storage.disk import ownership
from kohort.storage.disk import partition as partitions
from kohort.storage.disk.directory import DataDirectory
from kohort.storage.disk.files import Disk, Unsynced
from tests.support.broker import Broker, Client
from tests.support.frames import frame, message
from tests.support.manual_clock import ManualClock

EPOCH_MS = 1_700_000_000_000
SETTINGS = {  # empty groups are kept
    "offsets_topic_num_partitions": 2,
    "transaction_state_log_num_partitions": 2,
    "transaction_state_log_min_isr": 1,
    "group_initial_rebalance_delay_ms": 0,
    "log_retention_check_interval_ms": 10_000,
    "offsets_retention_check_interval_ms": 1_000_000_000,
}

SYNCED_EVERY_MS = 1_000
"""With `interval`."""


class Threads:
    """Executor that runs syncs on demand."""

    def __init__(self) -> None:
        self._waiting: list[tuple[Sequence[Unsynced], Callable[[OSError | None], None]]] = []

    def sync(self, files: Sequence[Unsynced], done: Callable[[OSError | None], None]) -> None:
        self._waiting.append((files, done))

    def go_on(self) -> bool:
        """Run one job, and return whether there was one."""
        if not self._waiting:
            return False
        files, done = self._waiting.pop(0)
        problem = None
        for file in files:
            try:
                file.sync()
            except OSError as raised:
                problem = raised
        done(problem)
        return True


class _Done:
    """The outcome of something that was done at once."""

    def __init__(self, work: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
        self._problem: Exception | None = None
        try:
            work(*arguments)
        except OSError as problem:
            self._problem = problem

    def done(self) -> bool:
        return True

    def result(self) -> None:
        if self._problem is not None:
            raise self._problem


class AtOnce:
    """Replacement of a thread pool, so that the seed determines everything."""

    def __init__(self, *_: object) -> None:
        """Ignore the number of threads."""

    def __enter__(self) -> AtOnce:
        return self

    def __exit__(self, *_: object) -> None:
        """Return immediately, since nothing is pending."""

    def submit(self, work: Callable[..., Any], *arguments: Any) -> _Done:
        return _Done(work, arguments)


@contextmanager
def no_threads() -> Iterator[None]:
    """Run all jobs in the thread of the test."""
    with (
        patch.object(partitions, "ThreadPoolExecutor", AtOnce),
        patch.object(disk_syncing, "ThreadPoolExecutor", AtOnce),
    ):
        yield


class Asked:
    """A request that waits for its answer."""

    def __init__(self, client: Client, name: str, version: int, then: Callable[[Any], None]) -> None:
        self.client = client
        self.name = name
        self.version = version
        self.then = then

    def look(self) -> bool:
        """Pass the response on if it has arrived, and return whether the request has ended."""
        for frame_ in self.client.heard():
            self.then(message(self.name).read_response(self.version, frame_)[1])
            return True
        return self.client.closed


class Life(Broker):
    """A broker that keeps its logs at `path`. Raises DataDirectoryError."""

    def __init__(
        self,
        path: Path,
        disk: Disk,
        fsync: str = "never",
        *,
        seed: int = 1,
        at_ms: int = EPOCH_MS,
        restore_topics: bool = False,
        **settings: Any,
    ) -> None:
        self.log = StringIO()
        log.configure(level="warning", stream=self.log)
        self.fsync = fsync
        self.directory = DataDirectory(path, disk=disk, delays=fsync == ALWAYS, restore_topics=restore_topics)
        super().__init__(
            directory=self.directory, clock=ManualClock(epoch_ms=at_ms), seed=seed, **{**SETTINGS, **settings}
        )
        self.cluster.replays.run_at_once()  # requests of these tests don't wait for groups
        self.threads = Threads()
        if fsync != NEVER:
            syncs = Syncs(self.cluster, disk, self.threads, self.loop.call_soon)
            syncs.act = self.server.act
            if fsync == ALWAYS:
                self.cluster.syncs = syncs
            else:
                SyncNowAndThen(self.cluster, syncs, SYNCED_EVERY_MS).wait(self.clock.now_ms())
        self.waiting: list[Asked] = []

    @property
    def wall_ms(self) -> int:
        return self.clock.now_ms() + self.clock.epoch_ms

    def asks(self, name: str, version: int, then: Callable[[Any], None], **fields: Any) -> None:
        """Send a request on its own connection. `then` is called with the response."""
        client = self.client()
        self.waiting.append(Asked(client, name, version, then))
        client.says(frame(name, version, 1, **fields))
        self.look()

    def look(self) -> None:
        """Pass on the responses that have arrived."""
        waiting, self.waiting = self.waiting, []
        self.waiting = [each for each in waiting if not each.look()] + self.waiting

    def settle(self) -> None:
        """Run everything that needs no time."""
        while True:
            ran = self.loop.run_soon()
            ran = self.threads.go_on() or ran
            self.look()
            if not ran:
                return

    def wait(self, length_ms: int) -> None:
        while length_ms > 0:
            self.loop.wait(min(length_ms, 500))
            length_ms -= 500
            self.look()
            if self.fsync != ALWAYS:
                self.loop.run_soon()

    def hears(self, name: str, version: int, **fields: Any) -> Any:
        """Return the response to a request that needs no time."""
        answers: list[Any] = []
        self.asks(name, version, answers.append, **fields)
        self.settle()
        assert answers, f"{name} is not answered"
        return answers[0]


def process_is_gone(path: Path) -> None:
    """Release the system resources of a killed process."""
    ownership._held.discard(path.resolve())
