"""Liveness of members, so that a jump of the clock spares those that are alive."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from kohort.control.request_facts import NO_GENERATION, Records, RequestFacts
from kohort.coordinator.groups.group import CLASSIC
from kohort.coordinator.groups.group_types import GROUP_TYPES
from kohort.coordinator.modern.modern_values import STATIC_LEAVING_EPOCH
from kohort.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from kohort.broker.runtime.connection import Connection
    from kohort.control.brokers import Brokers
    from kohort.control.faults.zombies import Zombies
    from kohort.coordinator.groups.group import Group

AnyGroup = Any  # a group of any type, whose classes are loaded only when needed
AnyMember = Any

# APIs that members of share groups call at leaders, which extend no session
AT_LEADERS = frozenset({"ShareFetch", "ShareAcknowledge"})

REMEMBERED_AT_LEAST = 64  # number of members from which obsolete entries are pruned


_UUID_LENGTH = 37  # length of a hyphen and the UUID at the end of a member id that a broker has generated


def client_id_in(member_id: str) -> str:
    return member_id[:-_UUID_LENGTH]


class Liveness:
    """The connection of the last request of each member of a group."""

    def __init__(self, brokers: Brokers, zombies: Zombies, silences: Callable[[RequestFacts], bool]) -> None:
        """Create a registry without members.

        Args:
            silences: Returns whether a fault would now keep such a request from its broker.
        """
        self._brokers = brokers
        self._zombies = zombies
        self._silences = silences
        self._connections: dict[tuple[str, str], Connection] = {}
        self._stopped: set[Connection] = set()  # Connections with a request or response that a gate or rule holds.
        self._prune_at = REMEMBERED_AT_LEAST

    def __len__(self) -> int:
        return len(self._connections)

    def note_request(self, facts: RequestFacts, connection: Connection) -> None:
        if facts.api in AT_LEADERS:
            return
        for member_id in facts.members:
            if member_id:
                self.note_member(facts.group, member_id, connection)

    def note_member(self, group_id: str, member_id: str, connection: Connection) -> None:
        self._connections[group_id, member_id] = connection
        if len(self._connections) >= self._prune_at:
            self._prune()

    def answered(self, facts: RequestFacts, response: object, connection: Connection) -> None:
        """Record the connection of a member whose response contains its new member id."""
        member_id = getattr(response, "member_id", None)
        if member_id:
            self._connections[facts.group, member_id] = connection

    def _connection(self, group: AnyGroup, member: AnyMember) -> Connection | None:
        """Return the connection of a member's last request.

        A member without an id has that of its waiting JoinGroup.
        """
        connection = self._connections.get((group.group_id, member.member_id))
        ticket: Any = getattr(member, "join_ticket", None)
        return connection if connection is not None or ticket is None else getattr(ticket.requester, "connection", None)

    def is_alive(self, group: AnyGroup, member: AnyMember) -> bool:
        """Return whether a member can send heartbeats: its connection is open and no fault silences it."""
        current = getattr(member, "current", None)  # members of classic groups have none
        if current is not None and current.epoch == STATIC_LEAVING_EPOCH:
            return False  # a static member that has left temporarily sends none
        connection = self._connection(group, member)
        if connection is None or not self._is_open(connection):
            return False
        if self._zombies and connection.node.coordinator is not group.coordinator and self._zombies.has_rival(group):
            return False  # it sends heartbeats to a zombie coordinator of the group
        return not self._silences(_beat(group, member, connection.node.id))

    def can_act(self, group: AnyGroup, member: AnyMember) -> bool:
        """Return whether a member is alive, and no gate or rule holds a request or response of its connection."""
        return self._connection(group, member) not in self._stopped and self.is_alive(group, member)

    def can_join(self, group: Group, member_id: str) -> bool:
        """Return whether a client that received a member id, but has not joined with it, is still able to join."""
        connection = self._connections.get((group.group_id, member_id))
        if connection is None or connection in self._stopped or not self._is_open(connection):
            return False
        return not self._silences(_join(group, member_id, connection.node.id))

    def _is_open(self, connection: Connection) -> bool:
        return not connection.closed and connection in self._brokers.server.connections

    def stopped(self, connection: Connection) -> None:
        self._stopped.add(connection)
        if len(self._stopped) >= self._prune_at:
            self._prune()

    def resumed(self, connection: Connection) -> None:
        self._stopped.discard(connection)

    def _prune(self) -> None:
        self._stopped = {stopped for stopped in self._stopped if not stopped.closed}
        self._connections = {
            (group_id, member_id): connection
            for (group_id, member_id), connection in self._connections.items()
            if not connection.closed and self._is_member(group_id, member_id)
        }
        self._prune_at = max(REMEMBERED_AT_LEAST, 2 * len(self._connections))

    def _is_member(self, group_id: str, member_id: str) -> bool:
        for coordinator in self._brokers.cluster.coordinators:
            if coordinator.availability(group_id) is ErrorCode.coordinator_load_in_progress:
                return True  # unknown until the load ends
            group: AnyGroup = coordinator.groups.get(group_id)
            if group is not None and member_id in group.members:
                return True
            if group is not None and group.group_type == CLASSIC and group.is_pending(member_id):
                return True
        return False


class _Possible(RequestFacts):
    """A hypothetical request."""

    __slots__ = ("_api", "_group")

    def __init__(self, group: AnyGroup, node: int, api: str, version: int, client_id: str) -> None:
        self._group = group
        self._api = api, version
        self.node = node
        self.group = group.group_id
        self.client_id = client_id

    @property
    def api(self) -> str:
        return self._api[0]

    @property
    def version(self) -> int:
        return self._api[1]

    @property
    def state(self) -> str:
        return str(self._group.state_name)

    @property
    def records(self) -> Iterator[Records]:
        return iter(())


def _beat(group: AnyGroup, member: AnyMember, node: int) -> RequestFacts:
    if group.group_type == CLASSIC:
        beat = _Possible(group, node, *GROUP_TYPES[CLASSIC].heartbeat, member.client_id)
        beat.instances, beat.generation = (member.group_instance_id or "",), group.version
    else:
        api = CLASSIC if getattr(member, "is_classic", False) else group.group_type
        beat = _Possible(group, node, *GROUP_TYPES[api].heartbeat, member.metadata.client_id)
        beat.instances, beat.generation = (getattr(member.metadata, "instance_id", None) or "",), member.current.epoch
    beat.members = (member.member_id,)
    return beat


def _join(group: Group, member_id: str, node: int) -> RequestFacts:
    join = _Possible(group, node, "JoinGroup", 9, client_id_in(member_id))
    join.members, join.instances, join.generation = (member_id,), (), NO_GENERATION
    return join
