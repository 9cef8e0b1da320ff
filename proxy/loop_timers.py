"""Timers of the event loop in place of the broker's purgatory."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kohort.base.clock import Clock
    from kohort.purgatory import DelayedOperation


class LoopTimers:
    """Purgatory for operations that only wait for a time."""

    def __init__(self, loop: asyncio.AbstractEventLoop, clock: Clock) -> None:
        self._loop = loop
        self._clock = clock

    def wait(self, operation: DelayedOperation) -> None:
        """Complete the operation at its deadline."""
        left_s = max(operation.deadline_ms - self._clock.now_ms(), 0) / 1_000
        self._loop.call_later(left_s, lambda: operation.on_complete(self._clock.now_ms(), expired=True))
