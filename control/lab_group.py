"""A group as a test sees it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from kohort.broker.cluster.moving import move_leader
from kohort.control.control_errors import NotFoundError, unknown
from kohort.control.explain import Explanation, explain
from kohort.control.faults.matching import STATE_NAMES
from kohort.control.history import Rebalance
from kohort.coordinator.classic.classic_group import ClassicGroup
from kohort.coordinator.classic.classic_member import Member
from kohort.coordinator.classic.states import State
from kohort.coordinator.effects import OFFSETS_TOPIC
from kohort.coordinator.events import GroupEvent
from kohort.coordinator.group_placement import partition_for
from kohort.protocol.consumer_protocol import assigned_partitions
from kohort.protocol.topic_partition import TopicPartition
from kohort.protocol.visible import visible

if TYPE_CHECKING:
    from kohort.control.laboratory import Laboratory

PATIENCE_S = 10.0
"""How long a test waits unless it says otherwise."""

DEAD = State.DEAD.value


@dataclass(frozen=True)
class GroupMember:
    """A member, at the moment somebody looked."""

    member_id: str
    instance_id: str | None
    """The `group.instance.id` of a static member."""
    client_id: str
    client_host: str
    session_timeout_ms: int
    rebalance_timeout_ms: int
    is_leader: bool
    is_alive: bool
    """Whether its connection is open and no fault keeps it silent."""
    waits_for: str
    """`join`: for the others to join; `sync`: for its share; nothing: it waits for neither."""
    partitions: Mapping[str, tuple[int, ...]]
    """By topic. Empty, too, for a group of another protocol type than `consumer`."""

    def __str__(self) -> str:
        return self.instance_id or self.client_id or self.member_id


class Group:
    """Looked up anew at each question, so that it may be asked for before it exists and after it has gone.

    Only classic groups: about one of the consumer protocol (KIP-848) every question raises NotFoundError.
    """

    id: str

    def __init__(self, laboratory: Laboratory, group_id: str) -> None:
        self._laboratory = laboratory
        self.id = group_id

    # What there is

    @property
    def state(self) -> str:
        """As on the wire: `Stable`; `Dead` where there is no such group."""
        group = self._found()
        return group.state.value if group is not None else DEAD

    @property
    def generation(self) -> int:
        """Counts the rebalances; 0 before the first."""
        group = self._found()
        return group.generation_id if group is not None else 0

    @property
    def protocol(self) -> str:
        """The assignor that was chosen; empty: none."""
        group = self._found()
        return (group.protocol_name if group is not None else None) or ""

    @property
    def members(self) -> tuple[GroupMember, ...]:
        """In the order in which they joined."""
        group = self._found()
        return tuple(self._seen(group, each) for each in group.members.values()) if group is not None else ()

    def member(self, who: str) -> GroupMember:
        """One of them, by member id, instance id or client id. Raises LookupError, naming those who are there."""
        members = self.members
        for member in members:
            if who in (member.member_id, member.instance_id, member.client_id):
                return member
        there = ", ".join(str(each) for each in members) or "nobody"
        raise LookupError(f"{who} is not in group {self.id}; there is {there}")

    @property
    def assignments(self) -> dict[str, Mapping[str, tuple[int, ...]]]:
        """Member id to partitions by topic."""
        return {member.member_id: member.partitions for member in self.members}

    @property
    def offsets(self) -> dict[TopicPartition, int]:
        """What is committed, by topic and partition."""
        group = self._found()
        if group is None or group.offsets is None:
            return {}
        return {(topic, partition): each.offset for topic, partition, each in group.offsets}

    @property
    def coordinator(self) -> int | None:
        """The id of the node that looks after it; None while nobody does."""
        node = self._laboratory.cluster.offsets_topic.coordinator_of(self.id)
        return node.id if node is not None else None

    def explain(self) -> Explanation:
        """Whom it waits for and until when, what each client should do now, and what is badly set; print it."""
        laboratory = self._laboratory
        return explain(self._found(), self.id, laboratory.clock.now_ms(), laboratory.is_alive, self.events)

    @property
    def history(self) -> list[Rebalance]:
        """Its rebalances so far, the first one first."""
        return self._laboratory.recorder.history(self.id)

    @property
    def events(self) -> list[GroupEvent]:
        """Everything that its coordinators told of it, in order; the rows of the event log."""
        return self._laboratory.recorder.events(self.id)

    def timeline(self) -> str:
        """The group and its events as text, a line each."""
        lines = [str(self), *(f"  {line}" for line in self._laboratory.recorder.timeline(self.id))]
        return "\n".join(map(visible, lines))

    # Failover

    def move_coordinator(self, node: int) -> None:
        """Lets another node look after it, and after all groups of its partition of `__consumer_offsets`.

        Raises MoveError, which says why not.
        """
        cluster, server = self._laboratory.cluster, self._laboratory.server
        topic = cluster.topics.by_name(OFFSETS_TOPIC)
        assert topic is not None, "a laboratory's cluster has it from the start"
        partition = topic.partitions[partition_for(self.id, len(topic.partitions))]
        server.act(partial(move_leader, cluster, topic, partition, node))
        self._laboratory.waiters.look()

    # Waiting

    async def wait_stable(self, members: int | None = None, timeout: float = PATIENCE_S) -> None:
        """Until everybody has their share and, if `members` is given, there are so many.

        Raises TimeoutError, which says what the group looks like instead; `timeout` is in real seconds, as everywhere.
        """
        await self.wait_for(
            lambda: self.state == State.STABLE.value and members in (None, len(self.members)),
            timeout,
            "stable" + (f" with {members} members" if members is not None else ""),
        )

    async def wait_state(self, state: str, timeout: float = PATIENCE_S) -> None:
        """Until it is in a state, by its name on the wire. Raises ControlError, with the nearest one, for another."""
        if state not in STATE_NAMES:
            raise unknown("group state", state, STATE_NAMES)
        await self.wait_for(lambda: self.state == state, timeout, state)

    async def wait_for(self, condition: Callable[[], bool], timeout: float = PATIENCE_S, words: str = "so") -> None:
        """Until anything else holds that the test can tell. `words` complete "group x is not …" should it never."""
        await self._laboratory.waiters.until(condition, timeout, lambda: f"after {timeout} s {self} is not {words}")

    # Within

    def __str__(self) -> str:
        members = ", ".join(f"{each} ({each.waits_for})" if each.waits_for else str(each) for each in self.members)
        return f"group {self.id} ({self.state}, generation {self.generation}, members: {members or 'none'})"

    def _found(self) -> ClassicGroup | None:
        if self._laboratory.is_consumer_group(self.id):
            raise NotFoundError(
                f"{self.id} speaks the consumer protocol (KIP-848), and this looks into classic groups only; "
                "ask with ConsumerGroupDescribe, as kafka-consumer-groups.sh --describe does"
            )
        return self._laboratory.group(self.id)

    def _seen(self, group: ClassicGroup, member: Member) -> GroupMember:
        waits_for = "join" if member.join_ticket is not None else "sync" if member.sync_ticket is not None else ""
        return GroupMember(
            member_id=member.member_id,
            instance_id=member.group_instance_id,
            client_id=member.client_id,
            client_host=member.client_host.lstrip("/"),
            session_timeout_ms=member.session_timeout_ms,
            rebalance_timeout_ms=member.rebalance_timeout_ms,
            is_leader=member.member_id == group.leader_id,
            is_alive=self._laboratory.is_alive(group, member),
            waits_for=waits_for,
            partitions=assigned_partitions(member.assignment) or {},
        )
