"""Events of one batch of changes of a streams group (offsets-topic §9.7).

`partitions` is the number of tasks, and `detail` contains their names by role. Only one member at a time has a task as
an active one: only active tasks move.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from kohort.coordinator.events.event_state import StepwiseEventState
from kohort.coordinator.events.modern_batch_events import BatchEvent, StepwiseBatchEvents
from kohort.coordinator.events.task_names import RoleTask, role_tasks, task_names
from kohort.coordinator.requesting_client import Client
from kohort.coordinator.streams.streams_group_values import OwnedTasks, StreamsKind, StreamsMetadata
from kohort.coordinator.streams.streams_member import FIRST
from kohort.coordinator.streams.streams_owners import Role
from kohort.coordinator.streams.streams_states import StreamsGroupState, StreamsMemberState
from kohort.protocol.topic_partition import TopicPartition

MIGRATION = "protocol_migration"

NAMES_OF_FIELDS = {
    "process_id": "process",
    "topology_epoch": "topology",
    "client_tags": "tags",
    "user_endpoint": "endpoint",
    "rebalance_timeout_ms": "timeouts",
    "rack_id": "rack",
}  # fields of the metadata and their names in events; an event names the first one that has changed


class StreamsBatchEvents(StepwiseBatchEvents[StepwiseEventState]):
    """Creates the events of one batch, in order, after its changes were applied."""

    kinds = StreamsKind
    first = FIRST
    stable = StreamsMemberState.STABLE
    unrevoked = StreamsMemberState.UNREVOKED_TASKS

    def create(self) -> list[BatchEvent]:
        """Create all events. A group that becomes a classic one only has the event of its deletion."""
        if self._cause.name != MIGRATION:
            return super().create()
        columns = {"state_from": self._changes.from_state.value, "state_to": "Dead", "cause": MIGRATION}
        return [self._new_event("group_deleted", None, **columns)]

    # Members

    def _members(self) -> Iterator[BatchEvent]:
        successors = self._successors()
        for name, old in self._old_metadata.items():
            new = self._metadata.get(name)
            if new is not None and name in successors:
                yield self._replaced(name, successors[name], _detail(new))
            elif old is None and new is not None:
                cause = "join_new" if new.instance_id is None else "join_static"
                yield self._of_member("member_added", name, StreamsKind.MEMBER, cause=cause, detail=_detail(new))
            elif old is not None and new is not None:
                changed_part = _find_change(old, new)
                detail = _detail(new) | {"what": changed_part}
                yield self._of_member("member_metadata_changed", name, StreamsKind.MEMBER, detail=detail)
            elif old is not None and name not in successors.values():
                yield self._removed(name, old)
        yield from self._stepped_out()

    def _removed(self, name: str, old_metadata: StreamsMetadata) -> BatchEvent:
        self._forget(name)
        return self._new_event(
            "member_removed",
            self._records[StreamsKind.MEMBER, name],
            client=Client(old_metadata.client_id, old_metadata.client_host),
            member_id=name,
            instance_id=old_metadata.instance_id,
            cause=self._cause.name,
            members=len(self._metadata),
            rebalance_timeout_ms=old_metadata.rebalance_timeout_ms,
            detail=_detail(old_metadata),
        )

    # Epochs

    def _bumped_state(self) -> str:
        if not self._metadata:
            return str(StreamsGroupState.EMPTY.value)
        return str((StreamsGroupState.ASSIGNING if self._is_ready() else StreamsGroupState.NOT_READY).value)

    def _is_ready(self) -> bool:
        """Return whether all topics of the topology exist and are compatible."""
        topology = self._group.topology
        return topology is not None and topology.epoch == self._group.validated_topology_epoch

    def _target_of(self, name: str) -> frozenset[RoleTask]:
        return role_tasks(self._group.target_of(name))

    def _target_columns(self, targets: Mapping[str, frozenset[RoleTask]]) -> tuple[dict[str, Any], dict[str, str]]:
        """Return the moves, without a possible minimum: Kafka's assignor balances processes, not members."""
        owners, active = self._state.owners, {name: active_of(tasks) for name, tasks in targets.items()}
        moves = owners.moves_to(active, None, alike=False)
        owners.assigned(active, None)
        by_role = {f"{role.name.lower()}_tasks": str(_count(targets, role)) for role in (Role.ACTIVE, Role.STANDBY)}
        return {}, moves.as_detail() | by_role

    # Assignments

    def _flatten(self, tasks: OwnedTasks) -> frozenset[RoleTask]:
        return role_tasks(tasks)

    def _owned(self, tasks: frozenset[RoleTask]) -> frozenset[TopicPartition]:
        return active_of(tasks)

    def _names(self, tasks: frozenset[RoleTask]) -> dict[str, str]:
        return task_names(tasks)

    # Internals

    def _member_columns(self, name: str, metadata: StreamsMetadata) -> dict[str, Any]:
        return {
            "instance_id": metadata.instance_id,
            "session_timeout_ms": self._group.config.session_timeout_ms,
            "rebalance_timeout_ms": metadata.rebalance_timeout_ms,
        }


def active_of(tasks: frozenset[RoleTask]) -> frozenset[TopicPartition]:
    """Return the active tasks by subtopology ID and partition."""
    return frozenset((task.subtopology_id, task.partition) for task in tasks if task.role is Role.ACTIVE)


def _count(targets: Mapping[str, frozenset[RoleTask]], role: Role) -> int:
    return sum(task.role is role for tasks in targets.values() for task in tasks)


def _detail(metadata: StreamsMetadata) -> dict[str, str]:
    return {"process_id": metadata.process_id, "topology_epoch": str(metadata.topology_epoch)}


def _find_change(old: StreamsMetadata, new: StreamsMetadata) -> str:
    changed = (name for field, name in NAMES_OF_FIELDS.items() if getattr(old, field) != getattr(new, field))
    return next(changed, "client")
