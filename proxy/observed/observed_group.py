"""State of an observed group that does not depend on its type."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, cast
from uuid import UUID

from kohort.base.address import java_address
from kohort.coordinator.requesting_client import Client
from kohort.proxy.node_ports import NO_NODE

if TYPE_CHECKING:
    from kohort.broker.cluster.group_events import EventFeed
    from kohort.coordinator.events.group_event import GroupEvent
    from kohort.protocol.topic_partition import TopicPartition
    from kohort.proxy.tap import ObservedCall


@dataclass
class Traffic:
    """State that all observed groups of a proxy share."""

    events: EventFeed
    epoch_ms: int = 0  # wall clock at the zero of the monotonic clock
    now_us: int = 0  # time of the last message on the monotonic clock
    software: dict[int, str] = field(default_factory=dict)  # clients' name and version (KIP-511), by connection number
    topics: dict[UUID, str] = field(default_factory=dict)  # names by id, from responses
    max_removed: int = 100  # removed members that each group remembers, to recognize them; the oldest are forgotten

    def client_of(self, observed: object) -> Client:
        """Return the sender of a request, with the client's address where a broker would see the proxy's."""
        call = cast("ObservedCall", observed)
        line = call.line
        return Client(call.header.client_id or "", java_address(line.host), self.software.get(line.number))


class ObservedGroup:
    """Observed group."""

    def __init__(self, group_id: str, group_type: str, traffic: Traffic) -> None:
        self.group_id = group_id
        self.group_type = group_type
        self.traffic = traffic
        self.node_id = NO_NODE  # the node that responded last as coordinator
        self.active_us = traffic.now_us  # time of the last message about it
        self.offsets: dict[TopicPartition, int] = {}  # observed commits
        self.evidence = ""  # of the next event
        self.is_complete = False  # whether all members are known
        self.is_new = True  # false if it was observed before as a group of another type
        self.version = 0  # counts changes; a description requested before the last one is outdated
        self.described_us = 0  # time of the last description; 0: none
        self.needs_description = False
        self.not_described = ""  # why the cluster did not describe it; empty without an error
        self.was_complete = False  # whether all members were known once, so that further ones are new
        self.lines: set[int] = set()  # numbers of the connections with messages about it
        self.measured_bytes = 0  # its memory when that was measured last
        self.read_bytes = 0  # requests and responses that were read since
        self._reported_us = 0

    @property
    def is_settled(self) -> bool:
        """Whether no observed change is incomplete."""
        return True

    def note_description(self) -> None:
        self.described_us, self.needs_description, self.not_described = self.traffic.now_us, False, ""

    def set_event_time(self, moment_us: int) -> None:
        """Set the time of the next event, no earlier than the previous one."""
        self.traffic.now_us = max(moment_us, self._reported_us)

    def hand_out(self, event: GroupEvent) -> None:
        self._reported_us = event.mono_us
        self.traffic.events.hand_out(self.node_id, event)
