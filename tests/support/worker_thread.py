"""The thread for long work of a broker, which a test runs by hand."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from tests.support.broker import Broker


class Thread:
    """A replacement for the thread of a running broker."""

    def __init__(self, broker: Broker) -> None:
        self._jobs: deque[Callable[[], None]] = deque()
        broker.cluster.worker.jobs = self
        broker.cluster.worker.act = broker.server.act

    def run(self, job: Callable[[], None]) -> None:
        self._jobs.append(job)

    def hand_over(self, result: Callable[[], None]) -> None:
        result()

    def close(self) -> bool:
        return not self._jobs

    def works(self) -> int:
        """Run the pending jobs and return their number."""
        done = 0
        while self._jobs:
            self._jobs.popleft()()
            done += 1
        return done
