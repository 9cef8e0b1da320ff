"""What a rule or a gate looks at: one request, with who sent it, for which group, and in which state that is."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kohort.broker.cluster.node import Node
    from kohort.broker.ticket import Ticket

NO_GENERATION = -1
GENERATION_FIELDS = ("generation_id", "generation_id_or_member_epoch", "member_epoch")
INSTANCE_FIELDS = ("group_instance_id", "instance_id")
"""Names of a generation or epoch, and of a static member, in requests of several protocols."""


class RequestFacts:
    """One request. What a request of its kind does not have is empty, or NO_GENERATION."""

    __slots__ = ("_node", "client_id", "generation", "group", "instances", "members", "node", "request", "ticket")

    def __init__(self, node: Node, request: Any, ticket: Ticket) -> None:
        self._node = node
        self.node = node.id
        self.request = request
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
        coordinator = self._node.coordinator
        group = coordinator.groups.get(self.group) or coordinator.consumer_groups.get(self.group)
        return group.state.value if group is not None else ""

    def __str__(self) -> str:
        """In one line, for a person."""
        who = next((each for each in (*self.instances, *self.members) if each), "") or self.client_id or "somebody"
        return f"{self.api} of {who}" + (f" for group {self.group}" if self.group else "") + f" at node {self.node}"


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
