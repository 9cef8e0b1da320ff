"""Timers of events: progress of a join phase, and statistics of heartbeats and commits once a minute."""

from collections.abc import Callable

from kohort.purgatory import DelayedOperation, Purgatory

STATS_INTERVAL_MS = 60_000


class HalfTime(DelayedOperation):
    """Reports the progress after half of the join phase; canceled when the phase ends earlier."""

    __slots__ = ("_purgatory", "_report")

    def __init__(self, purgatory: Purgatory, deadline_ms: int, report: Callable[[], None]) -> None:
        super().__init__(deadline_ms)
        self._purgatory = purgatory
        self._report = report
        purgatory.wait(self)

    def cancel(self) -> None:
        self._purgatory.cancel(self)

    def on_complete(self, now_ms: int, *, expired: bool) -> None:
        self._report()


class StatsTimer(DelayedOperation):
    """Reports statistics of all members once a minute."""

    __slots__ = ("_purgatory", "_report")

    def __init__(self, purgatory: Purgatory, now_ms: int, report: Callable[[], bool]) -> None:
        """Start the timer; it repeats while `report` returns True."""
        super().__init__(now_ms + STATS_INTERVAL_MS)
        self._purgatory = purgatory
        self._report = report
        purgatory.wait(self)

    def on_complete(self, now_ms: int, *, expired: bool) -> None:
        if self._report():
            self.deadline_ms = now_ms + STATS_INTERVAL_MS
            self.completed = False
            self._purgatory.wait(self)
