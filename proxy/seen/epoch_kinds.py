"""What heartbeats say in each of the newer protocols."""

from __future__ import annotations

from typing import Any, Final

from kohort.coordinator.events.task_names import RoleTask, task_names
from kohort.coordinator.streams.streams_owners import Role
from kohort.proxy.seen.epoch_described import EpochDescribed, partitions_in
from kohort.proxy.seen.epoch_member import EpochMember


class ConsumerSight(EpochDescribed):
    """A consumer group (KIP-848)."""

    kind = "consumer"
    counts_heartbeats = True

    def _given(self, answer: Any) -> frozenset[Any] | None:
        return None if answer.assignment is None else partitions_in(answer.assignment.topic_partitions)

    def _still_has(self, request: Any) -> frozenset[Any] | None:
        return None if request.topic_partitions is None else partitions_in(request.topic_partitions)

    def _says(self, member: EpochMember, request: Any) -> str | None:
        regex, assignor = request.subscribed_topic_regex, request.server_assignor
        changed = super()._says(member, request)
        if regex is not None and regex != member.topic_regex:
            member.topic_regex, changed = regex, "subscription"
        if assignor is not None and assignor != member.assignor:
            member.assignor, changed = assignor, changed or "assignor"
        return changed


class ShareSight(EpochDescribed):
    """A share group (KIP-932): several may have the same partition, and nobody gives up anything."""

    kind = "share"
    gives_up = False
    leaves_out = frozenset({"member_metadata_changed", "commit_rejected", "member_replaced"})

    def _given(self, answer: Any) -> frozenset[Any] | None:
        return None if answer.assignment is None else partitions_in(answer.assignment.topic_partitions)

    def owned(self, has: frozenset[Any]) -> frozenset[Any]:
        return frozenset()


class StreamsSight(EpochDescribed):
    """A streams group (KIP-1071): what members have are tasks."""

    kind = "streams"
    settled_state = None
    leaves_out = frozenset({"commit_rejected"})

    def _given(self, answer: Any) -> frozenset[Any] | None:
        return _tasks(answer)

    def _still_has(self, request: Any) -> frozenset[Any] | None:
        return _tasks(request)

    def _described_share(self, assignment: Any) -> frozenset[Any]:
        return _tasks(assignment) or frozenset()

    def owned(self, has: frozenset[Any]) -> frozenset[Any]:
        return frozenset((each.subtopology_id, each.partition) for each in has if each.role is Role.ACTIVE)

    def by_topic(self, has: frozenset[Any]) -> dict[str, tuple[int, ...]]:
        """No partitions, but active tasks, by their subtopologies."""
        return super().by_topic(self.owned(has))

    def _named(self, has: frozenset[Any]) -> dict[str, str]:
        return task_names(has)

    def _says(self, member: EpochMember, request: Any) -> str | None:
        return None


def _tasks(said: Any) -> frozenset[RoleTask] | None:
    by_role = (said.active_tasks, said.standby_tasks, said.warmup_tasks)
    if all(each is None for each in by_role):
        return None
    return frozenset(
        RoleTask(role, each.subtopology_id, partition)
        for role, tasks in zip(Role, by_role, strict=True)
        for each in tasks or ()
        for partition in each.partitions
    )


SIGHTS: Final[dict[str, type[EpochDescribed]]] = {each.kind: each for each in (ConsumerSight, ShareSight, StreamsSight)}
