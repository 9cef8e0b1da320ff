"""What there is to know of a group of any kind that is seen from outside."""

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
    from kohort.proxy.tap import Overheard


@dataclass
class SightWorld:
    """What all groups of a proxy share."""

    moment: Moment
    events: EventFeed
    clients: Clients = field(default_factory=Clients)
    topics: dict[UUID, str] = field(default_factory=dict)
    """Names by id, as far as answers have said them."""
    most_gone: int = 100
    """Members that have gone and are remembered, in each group, to be known again; the oldest are forgotten."""


class Sight:
    """One group."""

    kind: ClassVar[str]

    def __init__(self, group_id: str, world: SightWorld) -> None:
        self.group_id = group_id
        self._world = world
        self.node_id = NO_NODE
        """Who has answered for it last."""
        self.heard_us = world.moment.us
        """When anything was last said of it."""
        self.offsets: dict[TopicPartition, int] = {}
        """What was committed, as far as it passed."""
        self.evidence = ""
        """Where the next event is known from."""
        self.is_complete = False
        """Whether all its members are known."""
        self.is_new = True
        """Whether it was not known before as a group of another kind."""
        self.version = 0
        """Counts what has passed and is not as before: a description that was asked for earlier says less."""
        self.described_us = 0
        """When the cluster described it last; 0: it has not."""
        self.is_open_question = False
        """Whether more is there than what passed has shown, of which the cluster is to be asked."""
        self.not_described = ""
        """Why the cluster does not describe it; empty: it was not refused."""
        self.was_complete = False
        """Whether all its members were known once: who is there beside them has come since."""
        self.lines: set[int] = set()  # connections on which something was said of it
        self.measured_bytes = 0  # its memory when that was measured last
        self.read_bytes = 0  # requests and responses that were read since
        self._told_us = 0

    def described(self, said: Any) -> bool:
        """Takes over an element of its kind's Describe… answer. Returns whether that could be done."""
        raise NotImplementedError

    def _is_described(self) -> None:
        """A description was taken over."""
        self.described_us, self.is_open_question, self.not_described = self._world.moment.us, False, ""

    def hung_up(self, overheard: Overheard) -> None:
        """A request will not be answered: its connection has ended."""

    def line_ended(self, number: int) -> None:
        """A connection has ended."""

    def _at(self, moment_us: int) -> None:
        """What is told next happened then, or when the last event did, if that was later."""
        self._world.moment.us = max(moment_us, self._told_us)

    def _tell(self, event: GroupEvent) -> None:
        self._told_us = event.mono_us
        self._world.events.hand_out(self.node_id, event)
