"""Long work in a thread: one job after the other, with results delivered in the event loop.

The connection that a `Worker` works for is parked meanwhile, as for any request that waits; others are served. There is
only one thread, so that memory is bounded by the need of one job.
"""

from __future__ import annotations

import threading
from asyncio import AbstractEventLoop
from collections import deque
from collections.abc import Callable
from functools import partial
from queue import SimpleQueue
from typing import TYPE_CHECKING, Protocol, TypeVar

from kohort.base.logs import log
from kohort.broker.short_text import short_text
from kohort.broker.ticket import CloseConnection

if TYPE_CHECKING:
    from kohort.base.clock import Clock
    from kohort.broker.ticket import Ticket

T = TypeVar("T")

Job = Callable[[], None]

LAST_JOBS_S = 10.0  # how long the end of the process waits for a disk


class Jobs(Protocol):
    """An executor of jobs."""

    def run(self, job: Job) -> None:
        """Execute a job, immediately or in a thread; jobs are executed in order."""
        ...

    def hand_over(self, result: Job) -> None:
        """Call `result` in the thread that submits jobs. Called by jobs."""
        ...

    def close(self) -> bool:
        """Wait until all jobs are done and all results delivered. Return whether they were in time."""
        ...


class JobsHere:
    """An executor that runs every job immediately, in the caller's thread."""

    def run(self, job: Job) -> None:
        job()

    def hand_over(self, result: Job) -> None:
        result()

    def close(self) -> bool:
        return True


JOBS_HERE = JobsHere()


class WorkerThread:
    """A thread for jobs that may take long, such as those of a slow disk."""

    def __init__(self, loop: AbstractEventLoop, name: str) -> None:
        self._loop = loop
        self._jobs: SimpleQueue[Job | None] = SimpleQueue()
        self._results: deque[Job] = deque()
        self._closing = False
        # A daemon: a disk that never responds must not keep the process from ending.
        self._thread = threading.Thread(target=self._work, name=name, daemon=True)
        self._thread.start()

    def run(self, job: Job) -> None:
        self._jobs.put(job)

    def hand_over(self, result: Job) -> None:
        self._results.append(result)
        if not self._closing:
            self._loop.call_soon_threadsafe(self._run_handed_over)

    def close(self) -> bool:
        self._closing = True  # the loop may end before a job does
        self._jobs.put(None)
        self._thread.join(LAST_JOBS_S)
        self._run_handed_over()
        return not self._thread.is_alive()

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            try:
                job()
            except Exception as problem:  # the next jobs may succeed
                self.hand_over(partial(log.error, f"{self._thread.name}: a job failed", problem))

    def _run_handed_over(self) -> None:
        while self._results:
            self._results.popleft()()


class Worker:
    """The long work of a cluster's requests. Without a server it is executed immediately."""

    def __init__(self, clock: Clock) -> None:
        self.jobs: Jobs = JOBS_HERE
        # calls a function and executes its effects (`Server.act`)
        self.act: Callable[[Callable[[int], None]], None] = lambda action: action(clock.now_ms())

    def answer(self, ticket: Ticket, work: Callable[[], T], on_result: Callable[[T], object | None]) -> None:
        """Respond with what `on_result` returns for the result of `work`.

        Args:
            work: Runs in a thread, so it may read only what never changes.
            on_result: Called in the event loop; returns what a handler returns.
        """

        def job() -> None:
            try:
                result = work()
            except Exception:
                self.jobs.hand_over(partial(self.act, lambda now_ms: ticket.fail()))
                raise
            self.jobs.hand_over(partial(self.act, lambda now_ms: _answer(ticket, on_result, result)))

        self.jobs.run(job)

    def make(self, work: Callable[[], T], on_result: Callable[[T, int], None]) -> None:
        """Call `on_result` in the event loop with the result of `work` and the time.

        `work` runs in a thread and never raises.
        """

        def job() -> None:
            result = work()
            self.jobs.hand_over(partial(self.act, partial(on_result, result)))

        self.jobs.run(job)


def _answer(ticket: Ticket, on_result: Callable[[T], object | None], result: T) -> None:
    try:
        response = on_result(result)
    except CloseConnection as reason:
        ticket.close(str(reason))
    except Exception:
        log.error(f"{ticket.client_host}: answering {short_text(ticket.request)} failed")
        ticket.fail()
    else:
        ticket.conclude(response)
