"""A streams group (KIP-1071) as a test sees it: who has which tasks, and what keeps tasks from being handed out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kohort.control.control_errors import ControlError
from kohort.control.denied import denied
from kohort.control.epoch_group import EpochGroup
from kohort.control.explain_streams import explain_streams, explanation_of_none
from kohort.control.lab_offsets import lag_of
from kohort.control.streams_topology import LabTopology, statuses_of, topology_of
from kohort.control.task_members import TaskMember, task_member
from kohort.control.waiting import PATIENCE_S
from kohort.coordinator.events.streams_batch_events import STICKY

if TYPE_CHECKING:
    from kohort.control.explanation import Explanation
    from kohort.control.numbers import Seconds
    from kohort.coordinator.streams import streams_group
    from kohort.protocol.topic_partition import TopicPartition


class StreamsGroup(EpochGroup):
    """A streams group. Tasks are named as Kafka Streams does: `0_3` is partition 3 of subtopology 0.

    Every question raises ControlError where it is a group of another kind.
    """

    # What there is

    @property
    def protocol(self) -> str:
        """The assignor: `sticky`, where there are members."""
        group = self._found()
        return STICKY if group is not None and group.members else ""

    @property
    def members(self) -> tuple[TaskMember, ...]:
        """In the order in which they joined."""
        group, laboratory = self._found(), self._laboratory
        if group is None:
            return ()
        now_ms, alive = laboratory.clock.now_ms(), laboratory.is_alive
        return tuple(task_member(group, each, now_ms, alive(group, each)) for each in group.members.values())

    def member(self, who: str) -> TaskMember:
        """One of them, by member id or client id. Raises LookupError, naming those who are there."""
        found = super().member(who)
        assert isinstance(found, TaskMember), "all of them are"
        return found

    @property
    def topology(self) -> LabTopology | None:
        """What the application does, and how many tasks that makes; None: nobody has said so."""
        group = self._found()
        return None if group is None else topology_of(group)

    @property
    def status(self) -> dict[str, str]:
        """What members are told beside their tasks: `{"MISSING_SOURCE_TOPICS": "Source topics … are missing."}`.

        As it is for all of them since the last heartbeat; empty: nothing keeps tasks from being handed out.
        """
        group = self._found()
        return {} if group is None else statuses_of(group, self._laboratory.clock.now_ms())

    @property
    def owners(self) -> dict[str, str]:
        """Who has each active task, by member id; who still gives it up has it."""
        return {
            task: member.member_id for member in self.members for task in (*member.tasks.active, *member.pending.active)
        }

    @property
    def standbys(self) -> dict[str, list[str]]:
        """Who keeps copies of each task, by member id."""
        found: dict[str, list[str]] = {}
        for member in self.members:
            for task in (*member.tasks.standby, *member.pending.standby):
                found.setdefault(task, []).append(member.member_id)
        return found

    @property
    def offsets(self) -> dict[TopicPartition, int]:
        """What is committed, by topic and partition."""
        group = self._found()
        if group is None or group.offsets is None:
            return {}
        return {(topic, partition): each.offset for topic, partition, each in group.offsets}

    @property
    def lag(self) -> dict[TopicPartition, int]:
        """How many offsets are still to be committed, by topic and partition, of all topics that the topology reads.

        Where nothing is committed, every record that is there counts.
        """
        return lag_of(self._laboratory, self)

    @property
    def is_caught_up(self) -> bool:
        """Whether there is a lag, and it is 0 everywhere."""
        lag = self.lag
        return bool(lag) and not any(lag.values())

    def explain(self) -> Explanation:
        """Which task waits for whom, which topics are missing, what each client should do now; print it."""
        laboratory, group = self._laboratory, self._found()
        if group is None:
            return explanation_of_none(self.id)
        now_ms = laboratory.clock.now_ms()
        client_ids = {each.metadata.client_id for each in group.members.values()}
        refused = denied(laboratory.cluster.access, laboratory.faults, self.id, client_ids, now_ms)
        return explain_streams(group, self.members, now_ms, tuple(refused))

    # Waiting

    async def wait_caught_up(self, timeout: Seconds = PATIENCE_S) -> None:
        """Until there is a `lag`, and it is 0 everywhere. Raises TimeoutError, which says where it is not."""
        await self._laboratory.waiters.until(
            lambda: self.is_caught_up,
            timeout,
            lambda: f"{self} has not caught up: {self._behind()}",
        )

    # Within

    def _found(self) -> streams_group.StreamsGroup | None:
        group = self._laboratory.streams_group(self.id)
        if group is None and self._is_another():
            raise ControlError(f"group {self.id} is no streams group; ask for it with group({self.id!r})")
        return group

    def _is_another(self) -> bool:
        laboratory = self._laboratory
        return laboratory.classic_or_consumer_group(self.id) is not None or laboratory.share_group(self.id) is not None

    def _behind(self) -> str:
        behind = [f"{topic}-{partition} by {lag}" for (topic, partition), lag in self.lag.items() if lag]
        return ", ".join(behind) or "it has committed nothing, and reads no topic that there is"

    def __str__(self) -> str:
        if self._laboratory.streams_group(self.id) is None and self._is_another():
            return f"streams group {self.id}, which is a group of another kind"
        members = ", ".join(f"{each} ({each.waits_for})" if each.waits_for else str(each) for each in self.members)
        return f"streams group {self.id} ({self.state}, epoch {self.generation}, members: {members or 'none'})"
