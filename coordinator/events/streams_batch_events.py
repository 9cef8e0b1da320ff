"""The events of one batch of changes of a streams group (offsets-topic §9.7).

`partitions` counts tasks, and `detail` names them by role. One member at a time has a task as an active one: only
active tasks move.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from kohort.coordinator.events.event_state import StepwiseEventState
from kohort.coordinator.events.modern_batch_events import Made
from kohort.coordinator.events.stepwise_batch_events import StepwiseBatchEvents
from kohort.coordinator.events.task_names import RoleTask, role_tasks, task_names
from kohort.coordinator.requesting_client import Client
from kohort.coordinator.streams.streams_group import StreamsGroup
from kohort.coordinator.streams.streams_group_values import OwnedTasks, StreamsKind, StreamsMetadata
from kohort.coordinator.streams.streams_member import FIRST
from kohort.coordinator.streams.streams_owners import Role
from kohort.coordinator.streams.streams_states import StreamsGroupState, StreamsMemberState
from kohort.protocol.topic_partition import TopicPartition

STICKY = "sticky"
"""The assignor of every streams group (Kafka 4.3)."""

MIGRATION = "protocol_migration"

NAMES_OF_FIELDS = {
    "process_id": "process",
    "topology_epoch": "topology",
    "client_tags": "tags",
    "user_endpoint": "endpoint",
    "rebalance_timeout_ms": "timeouts",
    "rack_id": "rack",
}
"""What a member may say otherwise of itself, and the name of that in an event; the first one that differs."""


class StreamsBatchEvents(StepwiseBatchEvents[StepwiseEventState]):
    """Makes the events of one batch, in their order, when the changes count already."""

    kinds = StreamsKind
    first = FIRST
    stable = StreamsMemberState.STABLE
    unrevoked = StreamsMemberState.UNREVOKED_TASKS

    def make(self) -> list[Made]:
        """All of them. A group that becomes a classic one has no others any more."""
        if self._cause.name != MIGRATION:
            return super().make()
        about = {"state_from": self._changes.from_state.value, "state_to": "Dead", "cause": MIGRATION}
        return [self._made("group_deleted", None, **about)]

    # Members

    def _members(self) -> Iterator[Made]:
        for name, before in self._before.items():
            now = self._found.get(name)
            if before is None and now is not None:
                yield self._of_member("member_added", name, StreamsKind.MEMBER, cause="join_new", detail=_says(now))
            elif before is not None and now is not None:
                what = _what_changed(before, now)
                detail = _says(now) | {"what": what}
                yield self._of_member("member_metadata_changed", name, StreamsKind.MEMBER, detail=detail)
            elif before is not None:
                yield self._removed(name, before)

    def _removed(self, name: str, before: StreamsMetadata) -> Made:
        self._forget(name)
        return self._made(
            "member_removed",
            self._records[StreamsKind.MEMBER, name],
            client=Client(before.client_id, before.client_host),
            member_id=name,
            cause=self._cause.name,
            members=len(self._found),
            rebalance_timeout_ms=before.rebalance_timeout_ms,
            detail=_says(before),
        )

    # Epochs

    def _bumped_state(self) -> str:
        if not self._found:
            return str(StreamsGroupState.EMPTY.value)
        return str((StreamsGroupState.ASSIGNING if self._is_ready() else StreamsGroupState.NOT_READY).value)

    def _is_ready(self) -> bool:
        """Whether all topics of the topology are there and fit."""
        topology = self._group.topology
        return topology is not None and topology.epoch == self._group.validated_topology_epoch

    def _target_of(self, name: str) -> frozenset[RoleTask]:
        return role_tasks(self._group.target_of(name))

    def _target_says(self, shares: Mapping[str, frozenset[RoleTask]]) -> tuple[dict[str, Any], dict[str, str]]:
        """Threads of one process count as one for Kafka's assignor: how few tasks had to move is not known."""
        owners, active = self._state.owners, {name: active_of(tasks) for name, tasks in shares.items()}
        moves = owners.moves_to(active, None, alike=False)
        owners.assigned(active, None)
        by_role = {f"{role.name.lower()}_tasks": str(_count(shares, role)) for role in (Role.ACTIVE, Role.STANDBY)}
        return {}, moves.as_detail() | by_role

    # What members have

    def _each_of(self, had: OwnedTasks) -> frozenset[RoleTask]:
        return role_tasks(had)

    def _owned(self, had: frozenset[RoleTask]) -> frozenset[TopicPartition]:
        return active_of(had)

    def _named(self, had: frozenset[RoleTask]) -> dict[str, str]:
        return task_names(had)

    def _is_reconciled(self) -> bool:
        return is_reconciled(self._group)

    # Within

    def _assignor(self) -> str:
        return STICKY

    def _software_of(self, name: str) -> str | None:
        """Known from the request of a member for itself."""
        ticket = self._changes.ticket if name == self._cause.member_id else None
        return None if ticket is None else self._emitter.client_of(ticket).client_software

    def _about(self, name: str, metadata: StreamsMetadata) -> dict[str, Any]:
        group = self._group
        return {
            "session_timeout_ms": group.coordinator.streams_config(group.group_id).session_timeout_ms,
            "rebalance_timeout_ms": metadata.rebalance_timeout_ms,
        }


def is_reconciled(group: StreamsGroup) -> bool:
    """Whether every member has what the target for the group's epoch gives it, and nothing else."""
    members = len(group.members)
    return not members or (group.target_epoch == group.epoch and group.settled == members)


def active_of(tasks: frozenset[RoleTask]) -> frozenset[TopicPartition]:
    """The active tasks among them, by subtopology id and partition."""
    return frozenset((each.subtopology_id, each.partition) for each in tasks if each.role is Role.ACTIVE)


def _count(shares: Mapping[str, frozenset[RoleTask]], role: Role) -> int:
    return sum(each.role is role for tasks in shares.values() for each in tasks)


def _says(metadata: StreamsMetadata) -> dict[str, str]:
    return {"process_id": metadata.process_id, "topology_epoch": str(metadata.topology_epoch)}


def _what_changed(before: StreamsMetadata, now: StreamsMetadata) -> str:
    changed = (name for field, name in NAMES_OF_FIELDS.items() if getattr(before, field) != getattr(now, field))
    return next(changed, "client")
