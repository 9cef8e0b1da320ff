"""Work that would keep everybody waiting, in a thread: one job after the other, and its results back in the event loop.

The connection that a `Worker` works for is parked meanwhile, as for any request that waits; others are served. It has
one thread, so that memory is bounded by what one piece of work needs.
"""

from __future__ import annotations

import threading
from asyncio import AbstractEventLoop
from collections import deque
from collections.abc import Callable
from functools import partial
from queue import SimpleQueue
from typing import TYPE_CHECKING, Protocol, TypeVar

from kohort.broker.logs import log
from kohort.broker.short_text import short_text
from kohort.broker.ticket import CloseConnection

if TYPE_CHECKING:
    from kohort.broker.clock import Clock
    from kohort.broker.ticket import Ticket

T = TypeVar("T")

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


class WorkerThread:
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


class Worker:
    """The work of a cluster's requests that takes long. Without a server all of it is done at once."""

    def __init__(self, clock: Clock) -> None:
        self.jobs: Jobs = JOBS_HERE
        self.act: Callable[[Callable[[int], None]], None] = lambda action: action(clock.now_ms())
        """Does something together with what follows from it (`Server.act`)."""

    def answer(self, ticket: Ticket, work: Callable[[], T], then: Callable[[T], object | None]) -> None:
        """Answers a request by what `then` makes of the result of `work`; the handler returns None.

        `work` runs in a thread: it reads what never changes. `then` is called in the event loop, and answers as a
        handler does: None, if it answers later.
        """

        def job() -> None:
            try:
                result = work()
            except Exception:
                self.jobs.hand_over(partial(self.act, lambda now_ms: ticket.fail()))
                raise
            self.jobs.hand_over(partial(self.act, lambda now_ms: _answer(ticket, then, result)))

        self.jobs.run(job)

    def make(self, work: Callable[[], T], then: Callable[[T, int], None]) -> None:
        """Calls `then` in the event loop with what `work` has made in a thread, and the time. `work` raises nothing."""

        def job() -> None:
            result = work()
            self.jobs.hand_over(partial(self.act, partial(then, result)))

        self.jobs.run(job)


def _answer(ticket: Ticket, then: Callable[[T], object | None], result: T) -> None:
    try:
        response = then(result)
    except CloseConnection as reason:
        ticket.close(str(reason))
    except Exception:
        log.error(f"{ticket.client_host}: answering {short_text(ticket.request)} failed")
        ticket.fail()
    else:
        ticket.conclude(response)
