"""Work for a thread of its own, one job after the other, and its results back in the event loop."""

from __future__ import annotations

import threading
from asyncio import AbstractEventLoop
from collections import deque
from collections.abc import Callable
from functools import partial
from queue import SimpleQueue
from typing import Protocol

from kohort.broker.logs import log

Job = Callable[[], None]

LAST_JOBS_S = 10.0
"""How long the end of the process waits for a disk."""


class Jobs(Protocol):
    """Where jobs are done."""

    def run(self, job: Job) -> None:
        """Does a job, in the order in which they are given, at once or in a thread."""
        ...

    def hand_over(self, result: Job) -> None:
        """Calls `result` where jobs come from. Jobs call this."""
        ...

    def close(self) -> bool:
        """Waits until all jobs are done and all results reported; False: they were not in time."""
        ...


class JobsHere:
    """Does every job at once, in the thread of whoever gives it."""

    def run(self, job: Job) -> None:
        """Does it."""
        job()

    def hand_over(self, result: Job) -> None:
        """Reports the result."""
        result()

    def close(self) -> bool:
        """Everything is done."""
        return True


JOBS_HERE = JobsHere()


class JobThread:
    """A thread for jobs that may take long, as those of a slow disk do."""

    def __init__(self, loop: AbstractEventLoop, name: str) -> None:
        self._loop = loop
        self._jobs: SimpleQueue[Job | None] = SimpleQueue()
        self._results: deque[Job] = deque()
        self._closing = False
        # A daemon: a disk that never answers must not keep the process from ending.
        self._thread = threading.Thread(target=self._work, name=name, daemon=True)
        self._thread.start()

    def run(self, job: Job) -> None:
        """Puts it at the end of the queue."""
        self._jobs.put(job)

    def hand_over(self, result: Job) -> None:
        """Calls it in the event loop, or in `close`."""
        self._results.append(result)
        if not self._closing:
            self._loop.call_soon_threadsafe(self._run_handed_over)

    def close(self) -> bool:
        """Waits for LAST_JOBS_S at most."""
        self._closing = True  # the loop may end before a job does
        self._jobs.put(None)
        self._thread.join(LAST_JOBS_S)
        self._run_handed_over()
        return not self._thread.is_alive()

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            try:
                job()
            except Exception as problem:  # the next jobs are others
                self.hand_over(partial(log.error, f"{self._thread.name}: a job failed", problem))

    def _run_handed_over(self) -> None:
        while self._results:
            self._results.popleft()()
