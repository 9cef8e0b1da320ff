"""A process of a virtual cluster: its calls, which end with it and wait while it is frozen, and its delays."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import TYPE_CHECKING, Any

from kohort.whatif.clients.client_libraries import Span

if TYPE_CHECKING:
    from kohort.whatif.virtual_cluster import Scheduled, VirtualCluster


class TimedProcess:
    """A process that ends, and can be frozen."""

    def __init__(self, run: Any, name: str) -> None:
        self.run, self.name = run, name
        self.cluster: VirtualCluster = run.cluster
        self.alive = True
        self.is_frozen = False
        # A process has its own delays: how often another one draws does not change them.
        self._draw = Random(run.cluster.random.getrandbits(64)).random

    def delay(self, span: Span) -> int:
        """Return a random duration."""
        low, high = span
        return low + int(self._draw() * (high - low + 1))

    def after(self, ms: int, call: Callable[[], None]) -> Scheduled:
        """Schedule a call unless the process ends before."""
        return self.cluster.schedule(ms, lambda: self._run(call))

    def _run(self, call: Callable[[], None]) -> None:
        if not self.alive:
            return
        if self.is_frozen:
            self.run.frozen_calls.setdefault(self.name, []).append(lambda: self._run(call))
            return
        call()

    def thaw(self) -> None:
        self.is_frozen = False
        for call in self.run.frozen_calls.pop(self.name, []):
            call()
