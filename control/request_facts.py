"""Properties of a request that rules and gates match: its sender, its group, and the state of the group.

For requests of members of share groups also the records that the request, or its response, is about.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from kohort.broker.cluster.node import Node
    from kohort.broker.ticket import Ticket

NO_GENERATION = -1
GENERATION_FIELDS = ("generation_id", "generation_id_or_member_epoch", "member_epoch")
INSTANCE_FIELDS = ("group_instance_id", "instance_id")
# Names of a generation or epoch, of a static member, and of ranges of records, in messages of several protocols.
RANGE_FIELDS = ("acknowledgement_batches", "acquired_records")


class Records(NamedTuple):
    """Offsets of a partition, including the last one."""

    topic: str
    partition: int
    first_offset: int
    last_offset: int


class RequestFacts:
    """The properties of one request. A property that its API lacks is empty, or NO_GENERATION."""

    __slots__ = (
        "_node",
        "client_id",
        "generation",
        "group",
        "instances",
        "members",
        "node",
        "request",
        "response",
        "ticket",
    )

    def __init__(self, node: Node, request: Any, ticket: Ticket) -> None:
        self._node = node
        self.node = node.id
        self.request = request
        self.response: Any = None  # None until there is one
        self.ticket = ticket
        self.client_id = ticket.client_id
        self.group = group_of(request)
        # Ids of all members in the request: LeaveGroup can have several.
        self.members, self.instances = _members(request)
        self.generation: int = next(
            (getattr(request, name) for name in GENERATION_FIELDS if hasattr(request, name)), NO_GENERATION
        )

    @property
    def api(self) -> str:
        return kafka_name(self.ticket.api.spec.name)

    @property
    def version(self) -> int:
        return self.ticket.version

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the request's members: member ids, instance ids, and the sender's client id."""
        return (*self.members, *self.instances, self.client_id)

    @property
    def state(self) -> str:
        """The group's current state by its name in the protocol, or an empty string if this node lacks the group."""
        coordinator, group_id = self._node.coordinator, self.group
        group = coordinator.groups.get(group_id)
        return group.state_name if group is not None else ""

    @property
    def records(self) -> Iterator[Records]:
        """The records that a member of a share group acknowledges, and those that the response delivers."""
        for message, name in ((self.request, "topics"), (self.response, "responses")):
            for topic in getattr(message, name, None) or ():
                topic_of_id = self._node.cluster.topics.by_id(getattr(topic, "topic_id", None))
                if topic_of_id is not None:
                    for part in topic.partitions:
                        yield from _ranges(topic_of_id.name, part)

    def __str__(self) -> str:
        sender = (
            next((name for name in (*self.instances, *self.members) if name), "")
            or self.client_id
            or "an unknown client"
        )
        return f"{self.api} of {sender}" + (f" for group {self.group}" if self.group else "") + f" at node {self.node}"


def _ranges(topic: str, part: Any) -> Iterator[Records]:
    for name in RANGE_FIELDS:
        for batch in getattr(part, name, ()):
            yield Records(topic, part.partition_index, batch.first_offset, batch.last_offset)


@cache
def kafka_name(api: str) -> str:
    return "".join(word.capitalize() for word in api.split("_"))


def group_of(request: Any) -> str:
    """Return the group of a request, the first if there are several, or an empty string."""
    group = getattr(request, "group_id", None)
    if group is not None:
        return str(group)
    for name in ("groups", "coordinator_keys", "groups_names"):
        listed = getattr(request, name, None)
        if listed:
            return str(getattr(listed[0], "group_id", listed[0]))
    return ""


def _members(request: Any) -> tuple[tuple[str, ...], tuple[str, ...]]:
    spoken_for = getattr(request, "members", None)
    if spoken_for is None:
        spoken_for = (request,)
    members = tuple(getattr(member, "member_id", None) or "" for member in spoken_for)
    return members, tuple(_instance(member) for member in spoken_for)


def _instance(member: Any) -> str:
    return next((getattr(member, name) or "" for name in INSTANCE_FIELDS if hasattr(member, name)), "")
