"""Events that time brings about: how far a join phase is, and what a minute of heartbeats and commits came to."""

from collections.abc import Callable

from kohort.purgatory import DelayedOperation, Purgatory

STATS_INTERVAL_MS = 60_000


class HalfTime(DelayedOperation):
    """Reports a join phase half of whose time is over; taken away when the phase ends before."""

    __slots__ = ("_report",)

    def __init__(self, deadline_ms: int, report: Callable[[], None]) -> None:
        super().__init__(deadline_ms)
        self._report = report

    def on_complete(self, now_ms: int, *, expired: bool) -> None:
        """Always by its deadline."""
        self._report()


class StatsTimer(DelayedOperation):
    """Once a minute reports every member's sums."""

    __slots__ = ("_purgatory", "_report")

    def __init__(self, purgatory: Purgatory, now_ms: int, report: Callable[[], bool]) -> None:
        """`report`: returns whether it is to be called again."""
        super().__init__(now_ms + STATS_INTERVAL_MS)
        self._purgatory = purgatory
        self._report = report
        purgatory.wait(self)

    def on_complete(self, now_ms: int, *, expired: bool) -> None:
        """Reports, and waits for the next minute."""
        if self._report():
            self.deadline_ms = now_ms + STATS_INTERVAL_MS
            self.completed = False
            self._purgatory.wait(self)
