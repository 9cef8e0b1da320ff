"""What is known of an observed group of any type."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar
from uuid import UUID

from kohort.proxy.node_ports import NO_NODE
from kohort.proxy.seen.event_desk import Clients, Moment

if TYPE_CHECKING:
    from kohort.broker.cluster.group_events import EventFeed
    from kohort.coordinator.events.group_event import GroupEvent
    from kohort.protocol.topic_partition import TopicPartition
    from kohort.proxy.tap import ObservedCall


@dataclass
class SightWorld:
    """State that all groups of a proxy share."""

    moment: Moment
    events: EventFeed
    clients: Clients = field(default_factory=Clients)
    topics: dict[UUID, str] = field(default_factory=dict)  # names by id, from responses
    max_removed: int = 100  # removed members that each group remembers, to recognize them; the oldest are forgotten


class Sight:
    """Observed group."""

    group_type: ClassVar[str]

    def __init__(self, group_id: str, world: SightWorld) -> None:
        self.group_id = group_id
        self._world = world
        self.node_id = NO_NODE  # the node that responded last as coordinator
        self.active_us = world.moment.us  # time of the last message about it
        self.offsets: dict[TopicPartition, int] = {}  # observed commits
        self.evidence = ""  # of the next event
        self.is_complete = False  # whether all members are known
        self.is_new = True  # false if it was known before as a group of another type
        self.version = 0  # counts changes; a description requested before the last one is outdated
        self.described_us = 0  # time of the last description; 0: none
        self.is_open_question = False  # whether a description is needed
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

    def described(self, description: Any) -> bool:
        """Apply an element of a Describe… response. Return whether that was possible."""
        raise NotImplementedError

    def _is_described(self) -> None:
        self.described_us, self.is_open_question, self.not_described = self._world.moment.us, False, ""

    def on_close(self, observed: ObservedCall) -> None:
        pass

    def line_ended(self, number: int) -> None:
        pass

    def _at(self, moment_us: int) -> None:
        """Set the time of the next event, no earlier than the previous one."""
        self._world.moment.us = max(moment_us, self._reported_us)

    def _report(self, event: GroupEvent) -> None:
        self._reported_us = event.mono_us
        self._world.events.hand_out(self.node_id, event)
