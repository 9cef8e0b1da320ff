"""Reconciliation of a member: the steps from its current tasks to its target (streams-groups §9).

Tasks are revoked before others are assigned. A task that another member still owns is assigned when that member has
revoked it; so is a task that changes its role on the same member. Source: Kafka's `CurrentAssignmentBuilder`.
"""

from collections.abc import Callable, Mapping

from kohort.coordinator.streams.streams_group_values import (
    NO_OWNED_TASKS,
    Owned,
    OwnedTasks,
    StreamsAssignment,
)
from kohort.coordinator.streams.streams_owners import Role
from kohort.coordinator.streams.streams_states import StreamsMemberState
from kohort.coordinator.streams.streams_values import Tasks, TaskSets

IsBlocked = Callable[[Role, str, int], bool]  # function that returns whether a task cannot be assigned in a role yet


def reconcile(
    current: StreamsAssignment,
    target: TaskSets,
    target_epoch: int,
    *,
    reported: TaskSets | None,
    is_blocked: IsBlocked,
) -> StreamsAssignment | None:
    """Return the assignment after the next step: `current` if it does not change, None if the member must be fenced.

    Args:
        reported: Tasks that the member reports to own, or None if it does not report them.
    """
    state, epoch = current.state, current.epoch
    if state is StreamsMemberState.STABLE and epoch == target_epoch:
        return current
    if state is StreamsMemberState.UNREVOKED_TASKS:
        if _has_any(reported, current.revoking):
            return current
        epoch += 1
    if state is StreamsMemberState.UNKNOWN:
        # The state was written by a newer broker: the member must start without tasks.
        if reported is None or reported != TaskSets():
            return None
        epoch = target_epoch
    return _Step(current, target, target_epoch, is_blocked).next_assignment(epoch, reported)


def _has_any(reported: TaskSets | None, tasks: OwnedTasks) -> bool:
    """Return whether the member may still own one of the tasks. It may if it does not report its tasks."""
    if reported is None:
        return True
    reported_roles = (reported.active, reported.standby, reported.warmup)
    return any(map(_overlap, reported_roles, tasks.roles))


def _overlap(reported: Tasks, tasks: Mapping[str, Mapping[int, int] | frozenset[int]]) -> bool:
    return any(
        not partitions.isdisjoint(tasks.get(subtopology_id, ())) for subtopology_id, partitions in reported.items()
    )


class _Step:
    """Comparison of the current assignment with the target."""

    def __init__(self, current: StreamsAssignment, target: TaskSets, target_epoch: int, is_blocked: IsBlocked) -> None:
        self._current = current
        self._target_epoch = target_epoch
        self._is_blocked = is_blocked
        self._is_waiting = False
        assigned = current.assigned
        self._active = self._compare_active(assigned.active, target.active)
        self._standby = self._compare(Role.STANDBY, assigned.standby, target.standby)
        self._warmup = self._compare(Role.WARMUP, assigned.warmup, target.warmup)

    def next_assignment(self, epoch: int, reported: TaskSets | None) -> StreamsAssignment:
        """Return the assignment after the step.

        Args:
            epoch: The member epoch if tasks must be revoked first.
        """
        kept, revoked, added = (
            OwnedTasks(*by_role) for by_role in zip(self._active, self._standby, self._warmup, strict=True)
        )
        previous_epoch = self._current.epoch
        if revoked and _has_any(reported, revoked):
            return StreamsAssignment(epoch, previous_epoch, StreamsMemberState.UNREVOKED_TASKS, kept, revoked)
        state = StreamsMemberState.UNRELEASED_TASKS if self._is_waiting else StreamsMemberState.STABLE
        return StreamsAssignment(self._target_epoch, previous_epoch, state, _merged(kept, added), NO_OWNED_TASKS)

    def _compare_active(self, assigned: Owned, target: Tasks) -> tuple[Owned, Owned, Owned]:
        kept, revoked, added = self._compare(
            Role.ACTIVE, {subtopology_id: frozenset(assigned[subtopology_id]) for subtopology_id in assigned}, target
        )
        return (
            _with_epochs(kept, assigned),
            _with_epochs(revoked, assigned),
            {subtopology_id: dict.fromkeys(tasks, self._target_epoch) for subtopology_id, tasks in added.items()},
        )

    def _compare(self, role: Role, assigned: Tasks, target: Tasks) -> tuple[Tasks, Tasks, Tasks]:
        """Return the tasks of a role to keep, to revoke, and to add now."""
        kept: dict[str, frozenset[int]] = {}
        revoked: dict[str, frozenset[int]] = {}
        added: dict[str, frozenset[int]] = {}
        for subtopology_id in {**assigned, **target}:
            owned = assigned.get(subtopology_id, frozenset())
            target_tasks = target.get(subtopology_id, frozenset())
            missing = target_tasks - owned
            free = frozenset(
                partition for partition in missing if not self._is_blocked(role, subtopology_id, partition)
            )
            self._is_waiting |= len(free) < len(missing)
            for by_subtopology, tasks in ((kept, owned & target_tasks), (revoked, owned - target_tasks), (added, free)):
                if tasks:
                    by_subtopology[subtopology_id] = tasks
        return kept, revoked, added


def _with_epochs(tasks: Tasks, assigned: Owned) -> Owned:
    return {
        subtopology_id: {
            partition: epoch for partition, epoch in assigned[subtopology_id].items() if partition in partitions
        }
        for subtopology_id, partitions in tasks.items()
    }


def _merged(kept: OwnedTasks, added: OwnedTasks) -> OwnedTasks:
    active = {
        subtopology_id: {**kept.active.get(subtopology_id, {}), **added.active.get(subtopology_id, {})}
        for subtopology_id in {**kept.active, **added.active}
    }
    return OwnedTasks(active, _union(kept.standby, added.standby), _union(kept.warmup, added.warmup))


def _union(kept: Tasks, added: Tasks) -> Tasks:
    return {
        subtopology_id: kept.get(subtopology_id, frozenset()) | added.get(subtopology_id, frozenset())
        for subtopology_id in {**kept, **added}
    }
