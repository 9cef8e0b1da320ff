"""What a rule or a gate looks at: one request, with who sent it, for which group, and in which state that is.

Of members of share groups also about which records it is, or its answer, once there is one.
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
RANGE_FIELDS = ("acknowledgement_batches", "acquired_records")
"""Names of a generation or epoch, of a static member, and of ranges of records, in messages of several protocols."""


class Records(NamedTuple):
    """Offsets of a partition, the first and the last one included."""

    topic: str
    partition: int
    first_offset: int
    last_offset: int


class RequestFacts:
    """One request. What a request of its kind does not have is empty, or NO_GENERATION."""

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
        self.response: Any = None
        """Its answer; None: there is none yet."""
        self.ticket = ticket
        self.client_id = ticket.client_id
        self.group = group_of(request)
        self.members, self.instances = _members(request)
        """Ids of all members spoken for: LeaveGroup may name several."""
        self.generation: int = next(
            (getattr(request, name) for name in GENERATION_FIELDS if hasattr(request, name)), NO_GENERATION
        )

    @property
    def api(self) -> str:
        """Kafka's name of the API: `JoinGroup`."""
        return kafka_name(self.ticket.api.spec.name)

    @property
    def version(self) -> int:
        """The version of the request."""
        return self.ticket.version

    @property
    def names(self) -> tuple[str, ...]:
        """What the member, or each of several, may be called: member ids, instance ids, and the sender's client id."""
        return (*self.members, *self.instances, self.client_id)

    @property
    def state(self) -> str:
        """The group's state at this moment, by its name on the wire; empty: this node knows no such group."""
        coordinator, group_id = self._node.coordinator, self.group
        group = coordinator.groups.get(group_id) or coordinator.modern_group(group_id)
        return group.state.value if group is not None else ""

    @property
    def records(self) -> Iterator[Records]:
        """What a member of a share group says something of, and what the answer gives it."""
        for message, name in ((self.request, "topics"), (self.response, "responses")):
            for topic in getattr(message, name, None) or ():
                known = self._node.cluster.topics.by_id(getattr(topic, "topic_id", None))
                if known is not None:
                    for part in topic.partitions:
                        yield from _ranges(known.name, part)

    def __str__(self) -> str:
        """In one line, for a person."""
        who = next((each for each in (*self.instances, *self.members) if each), "") or self.client_id or "somebody"
        return f"{self.api} of {who}" + (f" for group {self.group}" if self.group else "") + f" at node {self.node}"


def _ranges(topic: str, part: Any) -> Iterator[Records]:
    """The ranges that a partition of a request, or of an answer, names."""
    for name in RANGE_FIELDS:
        for each in getattr(part, name, ()):
            yield Records(topic, part.partition_index, each.first_offset, each.last_offset)


@cache
def kafka_name(api: str) -> str:
    """`join_group` as Kafka writes it."""
    return "".join(word.capitalize() for word in api.split("_"))


def group_of(request: Any) -> str:
    """The group that a request is about, the first where there are several; empty: about none."""
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
    members = tuple(getattr(each, "member_id", None) or "" for each in spoken_for)
    return members, tuple(_instance(each) for each in spoken_for)


def _instance(member: Any) -> str:
    return next((getattr(member, name) or "" for name in INSTANCE_FIELDS if hasattr(member, name)), "")
