"""Flight recorder: keeps the group events of a cluster, up to a limit."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from sys import getsizeof
from typing import TYPE_CHECKING

from kohort.base.logs import log
from kohort.control.history.history import Rebalance, describe, rebalances

if TYPE_CHECKING:
    from kohort.broker.cluster.broker_cluster import BrokerCluster
    from kohort.broker.cluster.group_events import Recorded
    from kohort.coordinator.events.group_event import GroupEvent

EVENTS_KEPT = 100_000  # limit for the events of all groups together; the oldest are dropped first

EVENTS_KEPT_BYTES = 64 << 20  # the same in memory: names that clients choose can have 32 KB each

_EVENT_BYTES = 800  # size of an event without its texts

_TEXTS = ("group_id", "rebalance_id", "member_id", "instance_id", "client_id", "client_software", "client_reason")
_LISTS = ("waited_for", "joined", "left", "evicted")

Listener = Callable[["Recorded"], None]


class Recorder:
    """Keeps group events from `start` on."""

    def __init__(self, cluster: BrokerCluster, kept: int = EVENTS_KEPT) -> None:
        self._cluster = cluster
        self._kept = kept
        self._events: deque[Recorded] = deque()
        self._bytes = 0  # memory of the events
        # the events by group, so that reading every group's events does not scan all events each time
        self._of_groups: dict[str | None, deque[Recorded]] = {}
        self._listeners: list[Listener] = []
        self._listening = False
        # returns whether the node that reported an event is a zombie coordinator of its group
        self.disowns: Callable[[Recorded], bool] = lambda recorded: False
        self._disowned: set[str] = set()

    @property
    def running(self) -> bool:
        return self._listening

    def start(self) -> None:
        if not self._listening:
            self._listening = True
            self._cluster.group_events.listen(self._take)

    def stop(self) -> None:
        if self._listening:
            self._listening = False
            self._cluster.group_events.leave(self._take)

    def listen(self, listener: Listener) -> Callable[[], None]:
        """Call a listener with every event from now on, and return a function that removes it."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    def events(self, group_id: str | None = None) -> list[GroupEvent]:
        """Return the events of one group, or of all groups, in the order in which they happened."""
        return [recorded.event for recorded in (self._events if group_id is None else self._of(group_id))]

    def timeline(self, group_id: str, since_us: int = 0) -> list[str]:
        events = [recorded for recorded in self._of(group_id) if recorded.event.mono_us >= since_us]
        return list(describe(events, self.was_disowned))

    def groups_since(self, since_us: int) -> set[str]:
        events = [entry.event for entry in self._events]
        return {entry.group_id for entry in events if entry.group_id is not None and entry.mono_us >= since_us}

    def groups_lately(self, since_us: int, most: int) -> list[str]:
        """Return at most `most` groups with events since a time of the cluster's clock, the most recent first."""
        last = {
            group_id: events[-1].event.mono_us for group_id, events in self._of_groups.items() if group_id is not None
        }
        lately = [group_id for group_id, at_us in last.items() if at_us >= since_us]
        return sorted(lately, key=last.__getitem__, reverse=True)[:most]

    def history(self, group_id: str) -> list[Rebalance]:
        """Return a group's rebalances, without those that a zombie began, which have no effect."""
        return rebalances(recorded.event for recorded in self._of(group_id) if not self.was_disowned(recorded))

    def was_disowned(self, recorded: Recorded) -> bool:
        return bool(self._disowned) and recorded.event_id in self._disowned

    def __iter__(self) -> Iterator[Recorded]:
        return iter(self._events)

    def _take(self, recorded: Recorded) -> None:
        self._bytes += _size_of(recorded.event)
        while self._events and (len(self._events) >= self._kept or self._bytes > EVENTS_KEPT_BYTES):
            self._drop_oldest()
        self._events.append(recorded)
        self._of_groups.setdefault(recorded.event.group_id, deque()).append(recorded)
        if self.disowns(recorded):
            self._disowned.add(recorded.event_id)
        for listener in list(self._listeners):
            try:
                listener(recorded)
            except Exception:  # the other listeners must receive the event
                log.error(f"an event listener failed: {recorded}")

    def _of(self, group_id: str) -> Iterable[Recorded]:
        return self._of_groups.get(group_id, ())

    def _drop_oldest(self) -> None:
        oldest = self._events.popleft()
        self._bytes -= _size_of(oldest.event)
        of_group = self._of_groups[oldest.event.group_id]
        of_group.popleft()
        if not of_group:
            del self._of_groups[oldest.event.group_id]
        self._disowned.discard(oldest.event_id)


def _size_of(event: GroupEvent) -> int:
    size = _EVENT_BYTES
    for name in _TEXTS:
        text = getattr(event, name)
        if text is not None:
            size += getsizeof(text)
    for name in _LISTS:
        texts = getattr(event, name)
        if texts:
            size += sum(map(getsizeof, texts))
    if event.detail:
        size += sum(getsizeof(name) + getsizeof(text) for name, text in event.detail.items())
    return size
