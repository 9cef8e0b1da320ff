"""Which members are there to beat, so that a clock that jumps can spare them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, cast

from kohort.control.request_facts import NO_GENERATION, Records, RequestFacts
from kohort.coordinator.classic.classic_member import Member
from kohort.coordinator.consumer.consumer_member import ConsumerMember
from kohort.coordinator.consumer.values import STEPPING_OUT_EPOCH
from kohort.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from kohort.broker.runtime.connection import Connection
    from kohort.control.brokers import Brokers
    from kohort.control.zombies import Zombies
    from kohort.coordinator.classic.classic_group import ClassicGroup
    from kohort.coordinator.consumer.consumer_group import ConsumerGroup
    from kohort.coordinator.share.share_group import ShareGroup
    from kohort.coordinator.share.share_member import ShareMember
    from kohort.coordinator.streams.streams_group import StreamsGroup
    from kohort.coordinator.streams.streams_member import StreamsMember

    AnyGroup = ClassicGroup | ConsumerGroup | ShareGroup | StreamsGroup
    AnyMember = Member | ConsumerMember | ShareMember | StreamsMember

AT_LEADERS = frozenset({"ShareFetch", "ShareAcknowledge"})
"""What members of share groups ask leaders: that keeps no session alive."""

BEATS = {"share": ("ShareGroupHeartbeat", 1), "streams": ("StreamsGroupHeartbeat", 0)}
"""What members of these groups send, and its version."""

REMEMBERED_AT_LEAST = 64
"""As many are remembered before those who are gone are looked for."""


_UUID_LENGTH = 37
"""A member id that a broker has made ends so, with a hyphen before it."""


def client_id_in(member_id: str) -> str:
    """Return the client id that a broker has made a member id of."""
    return member_id[:-_UUID_LENGTH]


class Liveness:
    """The connection on which each member of a group was last heard."""

    def __init__(self, brokers: Brokers, zombies: Zombies, silences: Callable[[RequestFacts], bool]) -> None:
        """`silences`: whether a request like this would not reach its broker now."""
        self._brokers = brokers
        self._zombies = zombies
        self._silences = silences
        self._heard: dict[tuple[str, str], Connection] = {}
        self._stopped: set[Connection] = set()
        """Connections one of whose requests, or its answer, is in the laboratory's hands."""
        self._prune_at = REMEMBERED_AT_LEAST

    def __len__(self) -> int:
        return len(self._heard)

    def heard(self, facts: RequestFacts, connection: Connection) -> None:
        """A request has come; it may speak for several members."""
        if facts.api in AT_LEADERS:
            return
        for member_id in facts.members:
            if member_id:
                self._heard[facts.group, member_id] = connection
        if len(self._heard) >= self._prune_at:
            self._prune()

    def answered(self, facts: RequestFacts, response: object, connection: Connection) -> None:
        """An answer is about to leave; it may tell its client which member it is."""
        member_id = getattr(response, "member_id", None)
        if member_id:
            self._heard[facts.group, member_id] = connection

    def _connection(self, group: AnyGroup, member: AnyMember) -> Connection | None:
        """Where a member was last heard; one that has no id yet, where it waits for it."""
        heard = self._heard.get((group.group_id, member.member_id))
        ticket: Any = getattr(member, "join_ticket", None)
        return heard if heard is not None or ticket is None else getattr(ticket.requester, "connection", None)

    def is_alive(self, group: AnyGroup, member: AnyMember) -> bool:
        """Return whether a member can send heartbeats: its connection is open and no fault silences it."""
        if isinstance(member, ConsumerMember) and member.current.epoch == STEPPING_OUT_EPOCH:
            return False  # a static member that has left for a while sends none
        connection = self._connection(group, member)
        if connection is None or not self._is_open(connection):
            return False
        if self._zombies and connection.node.coordinator is not group.coordinator and self._zombies.has_rival(group):
            return False  # it beats at another one, who thinks that the group is its own
        return not self._silences(_beat(group, member, connection.node.id))

    def can_act(self, group: AnyGroup, member: AnyMember) -> bool:
        """Whether a member is alive, and no gate and no rule has a request of its connection, or the answer."""
        return self._connection(group, member) not in self._stopped and self.is_alive(group, member)

    def can_join(self, group: ClassicGroup, member_id: str) -> bool:
        """Whether a client that was given an id, and has not joined with it, is there to do so."""
        connection = self._heard.get((group.group_id, member_id))
        if connection is None or connection in self._stopped or not self._is_open(connection):
            return False
        return not self._silences(_join(group, member_id, connection.node.id))

    def _is_open(self, connection: Connection) -> bool:
        return not connection.closed and connection in self._brokers.server.connections

    def stopped(self, connection: Connection) -> None:
        """A gate or a rule has a request of the connection now, or its answer."""
        self._stopped.add(connection)
        if len(self._stopped) >= self._prune_at:
            self._prune()

    def resumed(self, connection: Connection) -> None:
        """They have it no more."""
        self._stopped.discard(connection)

    def _prune(self) -> None:
        """Forgets ids that are nobody's, and those of members whose connection is gone."""
        self._stopped = {each for each in self._stopped if not each.closed}
        self._heard = {
            (group_id, member_id): connection
            for (group_id, member_id), connection in self._heard.items()
            if not connection.closed and self._is_somebody(group_id, member_id)
        }
        self._prune_at = max(REMEMBERED_AT_LEAST, 2 * len(self._heard))

    def _is_somebody(self, group_id: str, member_id: str) -> bool:
        for coordinator in self._brokers.cluster.coordinators:
            if coordinator.availability(group_id) is ErrorCode.coordinator_load_in_progress:
                return True  # it is not known yet
            group = coordinator.groups.get(group_id)
            if group is not None and (member_id in group.members or group.is_pending(member_id)):
                return True
            modern = coordinator.modern_group(group_id)
            if modern is not None and member_id in modern.members:
                return True
        return False


class _Possible(RequestFacts):
    """A request that might be sent."""

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
        return str(self._group.state.value)

    @property
    def records(self) -> Iterator[Records]:
        return iter(())


def _beat(group: AnyGroup, member: AnyMember, node: int) -> RequestFacts:
    """The heartbeat of a member."""
    if isinstance(member, ConsumerMember):
        metadata, api = member.metadata, ("Heartbeat", 4) if member.is_classic else ("ConsumerGroupHeartbeat", 1)
        beat = _Possible(group, node, *api, metadata.client_id)
        beat.instances, beat.generation = (metadata.instance_id or "",), member.current.epoch
    elif isinstance(member, Member):
        beat = _Possible(group, node, "Heartbeat", 4, member.client_id)
        beat.instances, beat.generation = (member.group_instance_id or "",), group.version
    else:
        later = cast("ShareGroup | StreamsGroup", group)
        beat = _Possible(group, node, *BEATS[later.group_type], member.metadata.client_id)
        beat.instances, beat.generation = (), member.current.epoch
    beat.members = (member.member_id,)
    return beat


def _join(group: ClassicGroup, member_id: str, node: int) -> RequestFacts:
    """The second JoinGroup of a client that was given an id."""
    join = _Possible(group, node, "JoinGroup", 9, client_id_in(member_id))
    join.members, join.instances, join.generation = (member_id,), (), NO_GENERATION
    return join
