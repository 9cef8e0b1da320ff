"""View of a streams group (KIP-1071) for tests: the tasks of each member, and the reasons for unassigned tasks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kohort.control.explain.denied import denied
from kohort.control.explain.explain_streams import explain_streams, explanation_of_none
from kohort.control.groups.epoch_group import EpochGroup
from kohort.control.groups.lab_offsets import lag_of
from kohort.control.groups.streams_topology import LabTopology, statuses_of, topology_of
from kohort.control.groups.task_members import TaskMember, task_member
from kohort.control.waiting import PATIENCE_S
from kohort.coordinator.events.streams_batch_events import STICKY
from kohort.coordinator.groups.group import STREAMS

if TYPE_CHECKING:
    from kohort.control.explain.explanation import Explanation
    from kohort.control.numbers import Seconds
    from kohort.coordinator.streams import streams_group
    from kohort.protocol.topic_partition import TopicPartition


class StreamsGroup(EpochGroup):
    """A streams group. Task ids are those of Kafka Streams: `0_3` is partition 3 of subtopology 0.

    All properties and methods raise ControlError if the group has another type.
    """

    _type = STREAMS

    # State

    @property
    def protocol(self) -> str:
        """The assignor: `sticky` if the group has members."""
        group = self._find_group()
        return STICKY if group is not None and group.members else ""

    @property
    def members(self) -> tuple[TaskMember, ...]:
        """The members in the order in which they joined."""
        group, laboratory = self._find_group(), self._laboratory
        if group is None:
            return ()
        now_ms, alive = laboratory.clock.now_ms(), laboratory.is_alive
        return tuple(task_member(group, member, now_ms, alive(group, member)) for member in group.members.values())

    def member(self, who: str) -> TaskMember:
        """Return a member by member id or client id.

        Raises:
            LookupError: With the names of the members.
        """
        member = super().member(who)
        assert isinstance(member, TaskMember), "every member is one"
        return member

    @property
    def topology(self) -> LabTopology | None:
        """The topology of the application with its tasks, or None if no member has sent one."""
        group = self._find_group()
        return None if group is None else topology_of(group)

    @property
    def status(self) -> dict[str, str]:
        """The status that members receive: `{"MISSING_SOURCE_TOPICS": "Source topics … are missing."}`.

        It is common to all members since the last heartbeat, and empty if tasks can be assigned.
        """
        group = self._find_group()
        return {} if group is None else statuses_of(group, self._laboratory.clock.now_ms())

    @property
    def owners(self) -> dict[str, str]:
        """The member id of the owner of each active task. A member that is revoking a task still owns it."""
        return {
            task: member.member_id for member in self.members for task in (*member.tasks.active, *member.pending.active)
        }

    @property
    def standbys(self) -> dict[str, list[str]]:
        """The ids of the members that keep a standby copy of each task."""
        standbys: dict[str, list[str]] = {}
        for member in self.members:
            for task in (*member.tasks.standby, *member.pending.standby):
                standbys.setdefault(task, []).append(member.member_id)
        return standbys

    @property
    def offsets(self) -> dict[TopicPartition, int]:
        """The committed offsets by topic and partition."""
        group = self._find_group()
        if group is None or group.offsets is None:
            return {}
        return {(topic, partition): commit.offset for topic, partition, commit in group.offsets}

    @property
    def lag(self) -> dict[TopicPartition, int]:
        """The number of offsets still to be committed in the topics that the topology reads, by topic and partition.

        Without a committed offset every stored record counts.
        """
        return lag_of(self._laboratory, self)

    @property
    def is_caught_up(self) -> bool:
        """Whether there is a lag, and it is 0 for all partitions."""
        lag = self.lag
        return bool(lag) and not any(lag.values())

    def explain(self) -> Explanation:
        """Return the reason why a task waits, the missing topics, and what each client should do.

        Print the result to read it.
        """
        laboratory, group = self._laboratory, self._find_group()
        if group is None:
            return explanation_of_none(self.id)
        now_ms = laboratory.clock.now_ms()
        client_ids = {member.metadata.client_id for member in group.members.values()}
        refused = denied(laboratory.cluster.access, laboratory.faults, self.id, client_ids, now_ms)
        return explain_streams(group, self.members, now_ms, tuple(refused))

    # Waiting

    async def wait_caught_up(self, timeout: Seconds = PATIENCE_S) -> None:
        """Wait until there is a `lag`, and it is 0 for all partitions.

        Raises:
            TimeoutError: With the partitions that have a lag.
        """
        await self._laboratory.waiters.until(
            lambda: self.is_caught_up,
            timeout,
            lambda: f"{self} has not caught up: {self._behind()}",
        )

    # Details

    def _find_group(self) -> streams_group.StreamsGroup | None:
        group: streams_group.StreamsGroup | None = super()._find_group()
        return group

    def _behind(self) -> str:
        behind = [f"{topic}-{partition} by {lag}" for (topic, partition), lag in self.lag.items() if lag]
        return ", ".join(behind) or "it has no committed offsets and reads no existing topic"

    def __str__(self) -> str:
        if self._is_another():
            return f"streams group {self.id}, which is a group of another type"
        members = ", ".join(
            f"{member} ({member.waits_for})" if member.waits_for else str(member) for member in self.members
        )
        return f"streams group {self.id} ({self.state}, epoch {self.generation}, members: {members or 'none'})"
