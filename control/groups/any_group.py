"""Base class of the groups that tests inspect, for every group type."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from kohort.base.visible import visible
from kohort.broker.cluster.moving import move_leader
from kohort.control.control_errors import unknown
from kohort.control.faults.matching import STATE_NAMES
from kohort.control.groups.lab_offsets import delete
from kohort.control.history.history import Rebalance
from kohort.control.suggesting import Suggesting
from kohort.control.waiting import PATIENCE_S
from kohort.coordinator.classic.states import State
from kohort.coordinator.effects import OFFSETS_TOPIC
from kohort.coordinator.events.group_event import GroupEvent
from kohort.coordinator.groups.group_placement import partition_for
from kohort.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from kohort.control.explain.explanation import Explanation
    from kohort.control.groups.group_members import GroupMember
    from kohort.control.laboratory import Laboratory
    from kohort.control.numbers import Seconds

DEAD = State.DEAD.value
UNKNOWN = "Unknown"  # Kafka's `GroupState.UNKNOWN`: the coordinator is still loading


class AnyGroup(Suggesting):
    """Handle of a group, which need not exist yet or any more. Each property looks the group up again."""

    id: str

    def __init__(self, laboratory: Laboratory, group_id: str) -> None:
        self._laboratory = laboratory
        self.id = group_id

    # State

    @property
    def state(self) -> str:
        """The state as on the wire (`Stable`); `Dead` for an unknown group, `Unknown` while its coordinator loads."""
        return self._state() or self._state_of_none()

    @property
    def type(self) -> str:
        """The group type: `classic`, `consumer`, `share` or `streams`; empty if the group doesn't exist."""
        raise NotImplementedError

    @property
    def generation(self) -> int:
        """The generation of a classic group, the group epoch of any other; 0 before the first rebalance."""
        raise NotImplementedError

    @property
    def assignment_epoch(self) -> int:
        """The epoch of the target assignment; the generation of a classic group."""
        raise NotImplementedError

    @property
    def protocol(self) -> str:
        """The name of the assignor in use, or an empty string."""
        raise NotImplementedError

    @property
    def size(self) -> int:
        """The number of members."""
        return len(self.members)

    @property
    def members(self) -> tuple[GroupMember, ...]:
        """The members in the order in which they joined."""
        raise NotImplementedError

    def member(self, name: str) -> GroupMember:
        """Return a member by member id, instance id or client id.

        Raises:
            LookupError: No member has that id. The message lists the members.
        """
        members = self.members
        for member in members:
            if name in (member.member_id, member.instance_id, member.client_id):
                return member
        member_names = ", ".join(str(other) for other in members) or "none"
        raise LookupError(f"{name} is not a member of group {self.id}; its members: {member_names}")

    @property
    def assignments(self) -> dict[str, Mapping[str, tuple[int, ...]]]:
        """The assigned partitions by member id and topic."""
        return {member.member_id: member.partitions for member in self.members}

    @property
    def coordinator(self) -> int | None:
        """The node id of the group's coordinator, or None if no node coordinates the group."""
        return self._laboratory.cluster.offsets_topic.home_of(self.id)

    def explain(self) -> Explanation:
        """Return what the group waits for, what each client should do now, and which settings are unsuitable."""
        raise NotImplementedError

    @property
    def history(self) -> list[Rebalance]:
        """The rebalances of the group, oldest first."""
        return self._laboratory.recorder.history(self.id)

    @property
    def events(self) -> list[GroupEvent]:
        """The events of the group as in the event log, oldest first."""
        return self._laboratory.recorder.events(self.id)

    def timeline(self, since_us: int = 0) -> str:
        """Return the group and its events as text, one line each.

        Args:
            since_us: Omits earlier events; in microseconds of the cluster's clock.
        """
        lines = [str(self), *(f"  {line}" for line in self._laboratory.recorder.timeline(self.id, since_us))]
        return "\n".join(map(visible, lines))

    @property
    def is_settled(self) -> bool:
        """Whether every member has its complete assignment."""
        return self.state == State.STABLE.value

    @property
    def is_caught_up(self) -> bool:
        """Whether the group has committed offsets, and its lag is 0 in every partition."""
        raise NotImplementedError

    # Actions

    def move_coordinator(self, node: int) -> None:
        """Move the coordination of the group, and of all groups of its `__consumer_offsets` partition, to another node.

        Raises:
            MoveError: The node can't take over, for the reason in the message.
        """
        cluster, server = self._laboratory.cluster, self._laboratory.server
        topic = cluster.topics.by_name(OFFSETS_TOPIC)
        assert topic is not None, "a laboratory's cluster has it from the start"
        partition = topic.partitions[partition_for(self.id, len(topic.partitions))]
        server.act(partial(move_leader, cluster, topic, partition, node))
        self._laboratory.waiters.look()

    async def delete(self, timeout: Seconds = PATIENCE_S) -> None:
        """Delete the group and its offsets. Raise ControlError if it has members or doesn't exist."""
        await delete(self._laboratory, self, timeout)

    # Waiting

    async def wait_stable(self, members: int | None = None, timeout: Seconds = PATIENCE_S) -> None:
        """Wait until every member has its assignment and, if `members` is given, the group has that many members.

        Args:
            timeout: Real seconds, as in all waits. TimeoutError describes the group's state at that time.
        """
        await self.wait_for(
            lambda: self.is_settled and members in (None, len(self.members)),
            timeout,
            "stable" + (f" with {members} members" if members is not None else ""),
        )

    async def wait_state(self, state: str, timeout: Seconds = PATIENCE_S) -> None:
        """Wait until the group is in a state, given by its name on the wire. Raise ControlError for an unknown name."""
        if state not in STATE_NAMES:
            raise unknown("group state", state, STATE_NAMES)
        await self.wait_for(lambda: self.state == state, timeout, state)

    async def wait_for(
        self, condition: Callable[[], bool], timeout: Seconds = PATIENCE_S, words: str = "as expected"
    ) -> None:
        """Wait until a condition holds.

        Args:
            words: Completes the error message "group x is not …".
        """
        await self._laboratory.waiters.until(condition, timeout, lambda: f"{self} is not {words}")

    # Internals

    def _state(self) -> str:
        group = self._find_group()
        return "" if group is None else str(group.state_name)

    def _find_group(self) -> Any:
        """Return the group if it exists. Raise ControlError if this is the handle of another type."""
        raise NotImplementedError

    def _state_of_none(self) -> str:
        coordinator = self._laboratory.cluster.offsets_topic.coordinator_of(self.id)
        loading = (
            coordinator is not None and coordinator.availability(self.id) is ErrorCode.coordinator_load_in_progress
        )
        return UNKNOWN if loading else DEAD

    def __repr__(self) -> str:
        return visible(f"<{self}>")

    def __str__(self) -> str:
        raise NotImplementedError
