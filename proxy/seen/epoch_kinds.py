"""Heartbeat fields of each of the newer protocols."""

from __future__ import annotations

from typing import Any, Final

from kohort.coordinator.events.task_names import RoleTask, task_names
from kohort.coordinator.streams.streams_owners import Role
from kohort.proxy.seen.epoch_described import EpochDescribed, partitions_in
from kohort.proxy.seen.epoch_member import EpochMember


class ConsumerSight(EpochDescribed):
    """Consumer group (KIP-848)."""

    group_type = "consumer"
    counts_heartbeats = True

    def _assignment_in(self, answer: Any) -> frozenset[Any] | None:
        return None if answer.assignment is None else partitions_in(answer.assignment.topic_partitions)

    def _still_has(self, request: Any) -> frozenset[Any] | None:
        return None if request.topic_partitions is None else partitions_in(request.topic_partitions)

    def _changed_property(self, member: EpochMember, request: Any) -> str | None:
        regex, assignor = request.subscribed_topic_regex, request.server_assignor
        changed = super()._changed_property(member, request)
        if regex is not None and regex != member.topic_regex:
            member.topic_regex, changed = regex, "subscription"
        if assignor is not None and assignor != member.assignor:
            member.assignor, changed = assignor, changed or "assignor"
        return changed


class ShareSight(EpochDescribed):
    """Share group (KIP-932): members may share a partition, and none is revoked first."""

    group_type = "share"
    gives_up = False
    leaves_out = frozenset({"member_metadata_changed", "commit_rejected", "member_replaced"})

    def _assignment_in(self, answer: Any) -> frozenset[Any] | None:
        return None if answer.assignment is None else partitions_in(answer.assignment.topic_partitions)

    def owned(self, partitions: frozenset[Any]) -> frozenset[Any]:
        return frozenset()


class StreamsSight(EpochDescribed):
    """Streams group (KIP-1071): members have tasks."""

    group_type = "streams"
    settled_state = None
    leaves_out = frozenset({"commit_rejected"})

    def _assignment_in(self, answer: Any) -> frozenset[Any] | None:
        return _tasks(answer)

    def _still_has(self, request: Any) -> frozenset[Any] | None:
        return _tasks(request)

    def _described_assignment(self, assignment: Any) -> frozenset[Any]:
        return _tasks(assignment) or frozenset()

    def owned(self, tasks: frozenset[Any]) -> frozenset[Any]:
        return frozenset((task.subtopology_id, task.partition) for task in tasks if task.role is Role.ACTIVE)

    def by_topic(self, tasks: frozenset[Any]) -> dict[str, tuple[int, ...]]:
        """Return active tasks by subtopology, in place of partitions."""
        return super().by_topic(self.owned(tasks))

    def _named(self, tasks: frozenset[Any]) -> dict[str, str]:
        return task_names(tasks)

    def _changed_property(self, member: EpochMember, request: Any) -> str | None:
        return None


def _tasks(fields: Any) -> frozenset[RoleTask] | None:
    by_role = (fields.active_tasks, fields.standby_tasks, fields.warmup_tasks)
    if all(ids is None for ids in by_role):
        return None
    return frozenset(
        RoleTask(role, ids.subtopology_id, partition)
        for role, tasks in zip(Role, by_role, strict=True)
        for ids in tasks or ()
        for partition in ids.partitions
    )


SIGHTS: Final[dict[str, type[EpochDescribed]]] = {
    sight.group_type: sight for sight in (ConsumerSight, ShareSight, StreamsSight)
}
