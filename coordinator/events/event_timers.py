"""Events that time brings about: how far a join phase is, and what a minute of heartbeats and commits came to."""

from typing import TYPE_CHECKING

from kohort.purgatory import DelayedOperation

if TYPE_CHECKING:
    from kohort.coordinator.classic.classic_group import ClassicGroup
    from kohort.coordinator.events.classic_event_source import EventObserver

STATS_INTERVAL_MS = 60_000


class HalfTime(DelayedOperation):
    """Reports a join phase half of whose time is over; taken away when the phase ends before."""

    __slots__ = ("_group", "_observer")

    def __init__(self, observer: "EventObserver", group: "ClassicGroup", deadline_ms: int) -> None:
        super().__init__(deadline_ms)
        self._observer = observer
        self._group = group

    def on_complete(self, now_ms: int, *, expired: bool) -> None:
        """Always by its deadline."""
        self._observer.join_progress(self._group)


class StatsTimer(DelayedOperation):
    """Once a minute reports every member's sums."""

    __slots__ = ("_observer",)

    def __init__(self, observer: "EventObserver") -> None:
        super().__init__(observer.coordinator_ms() + STATS_INTERVAL_MS)
        self._observer = observer
        observer.coordinator.purgatory.wait(self)

    def on_complete(self, now_ms: int, *, expired: bool) -> None:
        """Waits for the next minute, and reports."""
        observer = self._observer
        if observer.coordinator.observer is not observer:
            return  # nobody listens any more
        self.deadline_ms = now_ms + STATS_INTERVAL_MS
        self.completed = False
        observer.coordinator.purgatory.wait(self)
        observer.flush_stats()
