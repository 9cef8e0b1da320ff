"""What a test asks of a group of any kind."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING

from kohort.broker.cluster.moving import move_leader
from kohort.control.control_errors import unknown
from kohort.control.faults.matching import STATE_NAMES
from kohort.control.history import Rebalance
from kohort.control.lab_offsets import delete
from kohort.control.waiting import PATIENCE_S
from kohort.coordinator.classic.states import State
from kohort.coordinator.effects import OFFSETS_TOPIC
from kohort.coordinator.events.group_event import GroupEvent
from kohort.coordinator.group_placement import partition_for
from kohort.protocol.errors import ErrorCode
from kohort.protocol.visible import visible

if TYPE_CHECKING:
    from kohort.control.explanation import Explanation
    from kohort.control.group_members import GroupMember
    from kohort.control.laboratory import Laboratory
    from kohort.control.numbers import Seconds

DEAD = State.DEAD.value
UNKNOWN = "Unknown"
"""Kafka's word (`GroupState.UNKNOWN`) for what a coordinator that loads does not know yet."""


class AnyGroup:
    """Looked up anew at each question, so that it may be asked for before it exists and after it has gone."""

    id: str

    def __init__(self, laboratory: Laboratory, group_id: str) -> None:
        self._laboratory = laboratory
        self.id = group_id

    # What there is

    @property
    def state(self) -> str:
        """As on the wire: `Stable`; `Dead` where there is no such group; `Unknown` while its coordinator loads."""
        return self._state() or self._state_of_none()

    @property
    def type(self) -> str:
        """`classic`, `consumer`, `share` or `streams`; empty where there is no such group."""
        raise NotImplementedError

    @property
    def generation(self) -> int:
        """Counts the rebalances; 0 before the first. Of all groups but classic ones the group epoch."""
        raise NotImplementedError

    @property
    def assignment_epoch(self) -> int:
        """The epoch that the target assignment was computed for; of a classic group its generation."""
        raise NotImplementedError

    @property
    def protocol(self) -> str:
        """The assignor that was chosen; empty: none."""
        raise NotImplementedError

    @property
    def size(self) -> int:
        """How many members it has."""
        return len(self.members)

    @property
    def members(self) -> tuple[GroupMember, ...]:
        """In the order in which they joined."""
        raise NotImplementedError

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
    def coordinator(self) -> int | None:
        """The id of the node that looks after it; None while nobody does."""
        return self._laboratory.cluster.offsets_topic.home_of(self.id)

    def explain(self) -> Explanation:
        """Whom it waits for and until when, what each client should do now, and what is badly set; print it."""
        raise NotImplementedError

    @property
    def history(self) -> list[Rebalance]:
        """Its rebalances so far, the first one first."""
        return self._laboratory.recorder.history(self.id)

    @property
    def events(self) -> list[GroupEvent]:
        """Every event that brokers reported of it, in order; the rows of the event log."""
        return self._laboratory.recorder.events(self.id)

    def timeline(self, since_us: int = 0) -> str:
        """The group and its events as text, a line each; only those since a moment of the cluster's clock, if given."""
        lines = [str(self), *(f"  {line}" for line in self._laboratory.recorder.timeline(self.id, since_us))]
        return "\n".join(map(visible, lines))

    @property
    def is_settled(self) -> bool:
        """Whether everybody has their share."""
        return self.state == State.STABLE.value

    @property
    def is_caught_up(self) -> bool:
        """Whether there is a lag, and it is 0 everywhere."""
        raise NotImplementedError

    # What a test does to it

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

    async def delete(self, timeout: Seconds = PATIENCE_S) -> None:
        """Deletes the group and all that is kept of it. Raises ControlError if it has members or is not there."""
        await delete(self._laboratory, self, timeout)

    # Waiting

    async def wait_stable(self, members: int | None = None, timeout: Seconds = PATIENCE_S) -> None:
        """Until everybody has their share and, if `members` is given, there are so many.

        Raises TimeoutError, which says what the group looks like instead; `timeout` is in real seconds, as everywhere.
        """
        await self.wait_for(
            lambda: self.is_settled and members in (None, len(self.members)),
            timeout,
            "stable" + (f" with {members} members" if members is not None else ""),
        )

    async def wait_state(self, state: str, timeout: Seconds = PATIENCE_S) -> None:
        """Until it is in a state, by its name on the wire. Raises ControlError, with the nearest one, for another."""
        if state not in STATE_NAMES:
            raise unknown("group state", state, STATE_NAMES)
        await self.wait_for(lambda: self.state == state, timeout, state)

    async def wait_for(self, condition: Callable[[], bool], timeout: Seconds = PATIENCE_S, words: str = "so") -> None:
        """Until any other condition of the test holds. `words` complete "group x is not …" should it never."""
        await self._laboratory.waiters.until(condition, timeout, lambda: f"{self} is not {words}")

    # Within

    def _state(self) -> str:
        """Empty: there is no such group."""
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
