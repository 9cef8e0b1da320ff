"""Delivery of group events from coordinators to listeners, with sequence numbers and the id of the process."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, NamedTuple

from kohort.base.logs import log
from kohort.broker.ticket import Ticket
from kohort.coordinator.requesting_client import NOBODY_KNOWN, Client

if TYPE_CHECKING:
    from kohort.base.clock import Clock
    from kohort.broker.cluster.offsets_topic import OffsetsTopic
    from kohort.coordinator.coordinator import GroupCoordinator
    from kohort.coordinator.events.group_event import GroupEvent

US_PER_MS = 1_000

TOLD_WITHIN_US, MOST_TOLD = 10_000_000, 100


class Recorded(NamedTuple):
    """An event with its number among all events of a node since its start (offsets-topic §9.1)."""

    node_id: int
    boot_id: str
    seq: int  # from 1 on, without gaps
    event: GroupEvent

    @property
    def event_id(self) -> str:
        """Unique among all nodes and starts."""
        return f"{self.node_id}-{self.boot_id}-{self.seq}"


class EventLogError(Exception):
    """The directory of an event log cannot be used. The text is one sentence that contains the solution."""


Listener = Callable[[Recorded], None]


class EventFeed:
    """Numbers the events of each node, and passes them to listeners.

    A listener is called in the middle of a turn: it should store the event, and process it later.
    """

    def __init__(self, boot_id: str) -> None:
        self._boot_id = boot_id
        self._listeners: list[Listener] = []
        self._numbers: dict[int, int] = {}

    def listen(self, listener: Listener) -> None:
        self._listeners.append(listener)

    def leave(self, listener: Listener) -> None:
        self._listeners.remove(listener)

    def hand_out(self, node_id: int, event: GroupEvent) -> None:
        """Pass the next event of a node to all listeners; -1 for an unknown node."""
        self._numbers[node_id] = number = self._numbers.get(node_id, 0) + 1
        recorded = Recorded(node_id, self._boot_id, number, event)
        for listener in list(self._listeners):
            try:
                listener(recorded)
            except Exception:  # the other listeners are called all the same
                log.error(f"a listener of group events failed: {recorded}")


class GroupEvents(EventFeed):
    """The listeners to a cluster's coordinators, which are observed while there are any."""

    def __init__(self, clock: Clock, offsets_topic: OffsetsTopic) -> None:
        super().__init__("")
        self._clock = clock
        self._topic = offsets_topic
        self._told_since_us = 0
        self._reported = 0  # events about clients that were reported since then

    def listen(self, listener: Listener) -> None:
        super().listen(listener)
        if len(self._listeners) == 1:
            # Independent of the cluster's seed: two starts with the same seed need different ids.
            from secrets import token_hex

            from kohort.coordinator.events.event_tracer import EventObserver

            self._boot_id = self._boot_id or token_hex(4)
            for coordinator in self._topic.coordinators.values():
                lookups = client_of, self._topic.leader_epoch, self._client_of_member
                EventObserver(coordinator, self._clock.now_us, *lookups).listen()

    def leave(self, listener: Listener) -> None:
        super().leave(listener)
        if not self._listeners:
            for coordinator in self._topic.coordinators.values():
                coordinator.observe()

    def take(self, coordinator: GroupCoordinator, event: GroupEvent) -> None:
        self.hand_out(
            next(node_id for node_id, observed in self._topic.coordinators.items() if observed is coordinator), event
        )

    def tell(self, node_id: int, kind: str, client: Client, detail: Mapping[str, str]) -> None:
        """Report an event about a client, without a coordinator and a group.

        At most MOST_TOLD are reported in TOLD_WITHIN_US, because clients that guess passwords or topics choose the
        names.
        """
        if not self._listeners:
            return
        now_us = self._clock.now_us()
        if now_us - self._told_since_us >= TOLD_WITHIN_US:
            self._told_since_us, self._reported = now_us, 0
        self._reported += 1
        if self._reported > MOST_TOLD:
            return
        from kohort.coordinator.events.group_event import NO_PARTITION, GroupEvent  # loaded for listeners only

        event = GroupEvent(
            ts=now_us // US_PER_MS + self._clock.epoch_ms,
            mono_us=now_us,
            co_partition=NO_PARTITION,
            co_epoch=NO_PARTITION,
            kind=kind,
            client_id=client.client_id or None,
            client_host=client.client_host or None,
            client_software=client.client_software,
            detail=detail,
        )
        self.hand_out(node_id, event)

    def _client_of_member(self, group_id: str, member_id: str) -> Client:
        """Return the client of a share group's member. A client that fetches need not be a member."""
        for coordinator in self._topic.coordinators.values():
            group = coordinator.share_group(group_id)
            member = None if group is None else group.members.get(member_id)
            if member is not None:
                return Client(member.metadata.client_id, member.metadata.client_host)
        return NOBODY_KNOWN

    def stopping(self) -> None:
        """Report the regular end of the process, so that a crash can be recognized."""
        for coordinator in self._topic.coordinators.values():
            coordinator.observer.stopping()


def client_of(ticket: object) -> Client:
    assert isinstance(ticket, Ticket)
    return Client(ticket.client_id, ticket.client_host, ticket.requester.client_software)
