"""Base class of the groups that tests inspect, for every group type."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

from kohort.base.visible import visible
from kohort.broker.cluster.moving import move_leader
from kohort.control.control_errors import ControlError, unknown
from kohort.control.faults.matching import STATE_NAMES
from kohort.control.groups.denied import denied
from kohort.control.groups.lab_offsets import delete, lag_of
from kohort.control.history.history import Rebalance
from kohort.control.suggesting import suggest_names
from kohort.control.waiting import PATIENCE_S
from kohort.coordinator.classic.states import State
from kohort.coordinator.effects import OFFSETS_TOPIC
from kohort.coordinator.events.group_event import GroupEvent
from kohort.coordinator.groups.group_placement import partition_for
from kohort.coordinator.groups.viewing import view_of
from kohort.groups.explain import explain, explain_missing
from kohort.groups.type_words import CLASSIC, CONSUMER, GROUP_TYPES
from kohort.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from kohort.control.laboratory import Laboratory
    from kohort.control.numbers import Seconds
    from kohort.groups.explanation import Explanation
    from kohort.groups.group_members import GroupMember
    from kohort.groups.group_view import GroupView
    from kohort.groups.shared_records import SharePartitionState
    from kohort.protocol.topic_partition import TopicPartition

DEAD = State.DEAD.value
UNKNOWN = "Unknown"  # Kafka's `GroupState.UNKNOWN`: the coordinator is still loading
ENDED = ("leave_explicit", "session_expired")
"""Causes of a removal when a process ends. A member that is removed for being late is still the same process."""


class WrongTypeError(ControlError):
    """Use of a handle for a group of another type."""

    def __init__(self, message: str, group_type: str) -> None:
        super().__init__(message)
        self.group_type = group_type


@dataclass(frozen=True)
class Migration:
    """Progress of a group between the classic and the consumer protocol (KIP-848), at the moment of the call."""

    protocol: str  # the group's protocol: `classic`, `consumer`, or empty if the group does not exist
    classic_members: int
    consumer_members: int

    def is_at(self, protocol: str) -> bool:
        """Return whether the group has members, and it and every member use a protocol."""
        other_members = self.consumer_members if protocol == CLASSIC else self.classic_members
        return self.protocol == protocol and not other_members and self.classic_members + self.consumer_members > 0

    def __str__(self) -> str:
        if not self.protocol:
            return "no group"
        return f"a {self.protocol} group of {self.classic_members} classic and {self.consumer_members} consumer members"


@suggest_names
class AnyGroup:
    """Handle of a group, which need not exist yet or any more. Each property looks the group up again."""

    id: str
    _types: ClassVar[tuple[str, ...]] = tuple(GROUP_TYPES)  # types of groups that the handle is for; first the default

    def __init__(self, laboratory: Laboratory, group_id: str) -> None:
        self._laboratory = laboratory
        self.id = group_id

    # State

    @property
    def state(self) -> str:
        """The state as on the wire (`Stable`); `Dead` for an unknown group, `Unknown` while its coordinator loads."""
        group = self._find_group()
        return self._state_of_none() if group is None else str(group.state_name)

    @property
    def type(self) -> str:
        """The group type: `classic`, `consumer`, `share` or `streams`; empty if the group doesn't exist."""
        group = self._find_group()
        return "" if group is None else str(group.group_type)

    @property
    def generation(self) -> int:
        """The generation of a classic group, the group epoch of any other; 0 before the first rebalance."""
        group = self._find_group()
        return 0 if group is None else int(group.version)

    @property
    def assignment_epoch(self) -> int:
        """The epoch of the target assignment; the generation of a classic group."""
        view = self._view()
        return (view.target_epoch or 0) if view is not None else 0

    @property
    def protocol(self) -> str:
        """The name of the assignor in use, or an empty string."""
        view = self._view()
        return view.protocol if view is not None else ""

    @property
    def size(self) -> int:
        """The number of members."""
        group = self._find_group()
        return 0 if group is None else len(group.members)

    @property
    def members(self) -> tuple[GroupMember, ...]:
        """The members in the order in which they joined."""
        view = self._view()
        return view.members if view is not None else ()

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
    def migration(self) -> Migration:
        """The group's protocol, and the number of members that use each protocol."""
        speaks = [member.speaks for member in self.members]
        return Migration(self.type, speaks.count(CLASSIC), speaks.count(CONSUMER))

    @property
    def coordinator(self) -> int | None:
        """The node id of the group's coordinator, or None if no node coordinates the group."""
        return self._laboratory.cluster.offsets_topic.home_of(self.id)

    @property
    def offsets(self) -> dict[TopicPartition, int]:
        """The committed offsets by topic and partition; empty for a share group."""
        group = self._find_group()
        if group is None or group.offsets is None:
            return {}
        return {(topic, partition): commit.offset for topic, partition, commit in group.offsets}

    @property
    def lag(self) -> dict[TopicPartition, int]:
        """The number of offsets that are still to be committed, by topic and partition.

        It covers all partitions with a committed offset and those of topics that members subscribe to by name, or that
        a topology reads. Without a committed offset every stored record counts. A transaction marker is an offset, too,
        as for Kafka's tools.
        """
        return lag_of(self._laboratory, self)

    @property
    def partitions(self) -> list[SharePartitionState]:
        """The state of each partition of a share group; empty for any other group."""
        return []

    @property
    def dead_letter_topic(self) -> str:
        """The topic of a share group's setting `errors.deadletterqueue.topic.name`; empty if it is not set."""
        return ""

    def explain(self) -> Explanation:
        """Return what the group waits for and until when, what each client should do, and which settings are wrong.

        For a share group also who holds which records, for a streams group also which tasks wait and which topics are
        missing. Print the result to read it.
        """
        view = self._view()
        if view is None or view.state == DEAD:
            about_type = GROUP_TYPES[self._types[0]]
            return explain_missing(self.id, about_type.noun, about_type.created_by)
        client_ids = {member.client_id for member in view.members}
        laboratory = self._laboratory
        refused = denied(laboratory.cluster.access, laboratory.faults, self.id, client_ids, laboratory.clock.now_ms())
        return replace(explain(self._with_history(view)), denied=tuple(refused))

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
        """Whether there is a lag, and it is 0 for all partitions."""
        lag = self.lag
        return bool(lag) and not any(lag.values())

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
            lambda: self.is_settled and members in (None, self.size),
            timeout,
            "stable" + (f" with {members} members" if members is not None else ""),
        )

    async def wait_state(self, state: str, timeout: Seconds = PATIENCE_S) -> None:
        """Wait until the group is in a state, given by its name on the wire. Raise ControlError for an unknown name."""
        if state not in STATE_NAMES:
            raise unknown("group state", state, STATE_NAMES)
        await self.wait_for(lambda: self.state == state, timeout, state)

    async def wait_caught_up(self, timeout: Seconds = PATIENCE_S) -> None:
        """Wait until there is a `lag`, and it is 0 for all partitions.

        Consumers commit automatically every 5 s by their own clock, unless they are configured otherwise.

        Raises:
            TimeoutError: With the partitions that have a lag.
        """
        await self._laboratory.waiters.until(
            lambda: self.is_caught_up, timeout, lambda: f"{self} has not caught up: {self._remaining()}"
        )

    async def wait_for(
        self, condition: Callable[[], bool], timeout: Seconds = PATIENCE_S, words: str = "as expected"
    ) -> None:
        """Wait until a condition holds.

        Args:
            words: Completes the error message "group x is not …".
        """
        await self._laboratory.waiters.until(condition, timeout, lambda: f"{self} is not {words}")

    # Internals

    def _find_group(self) -> Any:
        """Return the group if it exists. Raise ControlError if this is the handle of another type."""
        group = self._laboratory.find(self.id)
        if group is not None and group.group_type not in self._types:
            raise WrongTypeError(self._describe_mismatch(group.group_type), group.group_type)
        return group

    def _describe_mismatch(self, group_type: str) -> str:
        return f"group {self.id} is not a {self._types[0]} group; use group({self.id!r})"

    def _view(self) -> GroupView | None:
        """Return what the group looks like now, or None if it doesn't exist."""
        group, laboratory = self._find_group(), self._laboratory
        return None if group is None else view_of(group, laboratory.clock.now_ms(), laboratory.liveness.is_alive)

    def _with_history(self, view: GroupView) -> GroupView:
        """Add facts from recorded events."""
        restarts = Counter(
            event.client_id or ""
            for event in self.events
            if event.kind == "member_removed" and event.cause in ENDED and event.instance_id is None
        )
        return replace(view, restarts=restarts)

    def _remaining(self) -> str:
        """Return the partitions with a lag as text."""
        behind = [f"{topic}-{partition} by {lag}" for (topic, partition), lag in self.lag.items() if lag]
        return ", ".join(behind) or "it has no committed offsets, and its members subscribe to no existing topic"

    def _state_of_none(self) -> str:
        coordinator = self._laboratory.cluster.offsets_topic.coordinator_of(self.id)
        loading = (
            coordinator is not None and coordinator.availability(self.id) is ErrorCode.coordinator_load_in_progress
        )
        return UNKNOWN if loading else DEAD

    def __repr__(self) -> str:
        return visible(f"<{self}>")

    def __str__(self) -> str:
        noun = GROUP_TYPES[self._types[0]].noun
        try:
            version = GROUP_TYPES[self.type or self._types[0]].version
        except WrongTypeError as error:
            return f"{noun} {self.id}, which is a {error.group_type} group"
        members = ", ".join(
            f"{member} ({member.waits_for})" if member.waits_for else str(member) for member in self.members
        )
        return f"{noun} {self.id} ({self.state}, {version} {self.generation}, members: {members or 'none'})"
