"""A thread for what takes long in a broker, which works when the test says so."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from tests.support.broker import Broker


class Thread:
    """Takes the place of the thread that a served broker has."""

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
        """Does what there is to do; returns how many jobs it was."""
        done = 0
        while self._jobs:
            self._jobs.popleft()()
            done += 1
        return done
