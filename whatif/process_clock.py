"""Delays of a process of a virtual cluster, and its scheduled calls: they end with it and wait while it is frozen."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import TYPE_CHECKING

from kohort.whatif.clients.client_libraries import Span

if TYPE_CHECKING:
    from kohort.whatif.virtual_cluster import Scheduled, VirtualCluster


class ProcessClock:
    """Time as one process sees it. Its delays do not depend on how many other processes draw."""

    def __init__(self, cluster: VirtualCluster) -> None:
        self.cluster = cluster
        self.alive = True
        self.is_frozen = False
        self.draw = Random(cluster.random.getrandbits(64)).random
        self._frozen_calls: list[Callable[[], None]] = []

    def delay(self, span: Span) -> int:
        """Return a random duration."""
        low, high = span
        return low + int(self.draw() * (high - low + 1))

    def after(self, ms: int, call: Callable[[], None]) -> Scheduled:
        """Schedule a call unless the process ends before."""
        return self.cluster.schedule(ms, lambda: self.run(call))

    def run(self, call: Callable[[], None]) -> None:
        if not self.alive:
            return
        if self.is_frozen:
            self._frozen_calls.append(lambda: self.run(call))
        else:
            call()

    def thaw(self) -> None:
        self.is_frozen = False
        calls, self._frozen_calls = self._frozen_calls, []
        for call in calls:
            call()
