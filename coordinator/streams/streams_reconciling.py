"""Reconciliation of a member: the steps from its current tasks to its target (streams-groups §9).

Tasks are revoked before others are assigned. A task that another member still owns is assigned when that member has
revoked it; so is a task that changes its role on the same member. Source: Kafka's `CurrentAssignmentBuilder`.
"""

from collections.abc import Callable, Mapping
from typing import NamedTuple

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
IsActive = Callable[[str, int], bool]  # function that returns whether a member still owns a task as an active one


def reconcile(
    current: StreamsAssignment,
    target: TaskSets,
    target_epoch: int,
    *,
    reported: TaskSets | None,
    is_blocked: IsBlocked,
    is_active: IsActive | None = None,
) -> StreamsAssignment | None:
    """Return the assignment after the next step: `current` if it does not change, None if the member must be fenced.

    Args:
        reported: Tasks that the member reports to own, or None if it does not report them.
        is_active: Lets tasks change their roles on a member without being revoked first, as of Kafka 4.4.
    """
    following = next_epoch(current, target, target_epoch)
    if following is not None:
        return following
    state, epoch = current.state, current.epoch
    if state is StreamsMemberState.UNREVOKED_TASKS:
        if _has_any(reported, current.revoking):
            return current
        epoch += 1
    if state is StreamsMemberState.UNKNOWN:
        # The state was written by a newer broker: the member must start without tasks.
        if reported is None or reported != TaskSets():
            return None
        epoch = target_epoch
    return _Step(current, target, target_epoch, is_blocked, is_active).next_assignment(epoch, reported)


def next_epoch(current: StreamsAssignment, target: TaskSets, target_epoch: int) -> StreamsAssignment | None:
    """Return the assignment with the target's epoch, or None if the member is not stable or needs other tasks."""
    if current.state is not StreamsMemberState.STABLE:
        return None
    if current.epoch == target_epoch:
        return current
    at_target = _is_at(current.assigned, target)
    return StreamsAssignment(target_epoch, current.epoch, current.state, current.assigned) if at_target else None


def _is_at(assigned: OwnedTasks, target: TaskSets) -> bool:
    """Return whether the active tasks of a member are its target, without copies. This is the usual case."""
    if assigned.standby or assigned.warmup or target.standby or target.warmup:
        return False
    active, target_active = assigned.active, target.active
    for subtopology_id, partitions in active.items():
        target_partitions = target_active.get(subtopology_id)
        if target_partitions is None or len(partitions) != len(target_partitions):
            return False
        if not target_partitions.issuperset(partitions):
            return False
    return len(active) == len(target_active)


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

    def __init__(
        self,
        current: StreamsAssignment,
        target: TaskSets,
        target_epoch: int,
        is_blocked: IsBlocked,
        is_active: IsActive | None,
    ) -> None:
        self._current = current
        self._target_epoch = target_epoch
        self._is_blocked = is_blocked
        self._is_active = is_active
        self._is_waiting = False
        assigned = current.assigned
        # Copies that are to become active tasks, and copies that the member gets without waiting.
        self._promoted = self._converted = _NO_COPIES
        if is_active is not None:
            self._promoted = _Copies(_common(assigned.standby, target.active), _common(assigned.warmup, target.active))
            self._converted = _Copies(
                _union(_common(assigned.active, target.standby), _common(assigned.warmup, target.standby)),
                _union(_common(assigned.active, target.warmup), _common(assigned.standby, target.warmup)),
            )
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
        if self._is_active is not None:
            kept, revoked, added = self._change_roles(kept, revoked, added)
        if revoked and _has_any(reported, revoked):
            return StreamsAssignment(epoch, previous_epoch, StreamsMemberState.UNREVOKED_TASKS, kept, revoked)
        if self._is_active is not None:
            kept, added = self._promote(kept, added)
        state = StreamsMemberState.UNRELEASED_TASKS if self._is_waiting else StreamsMemberState.STABLE
        return StreamsAssignment(self._target_epoch, previous_epoch, state, _merged(kept, added), NO_OWNED_TASKS)

    def _change_roles(
        self, kept: OwnedTasks, revoked: OwnedTasks, added: OwnedTasks
    ) -> tuple[OwnedTasks, OwnedTasks, OwnedTasks]:
        """Keep copies that become active tasks, and add copies of tasks that the member owns in another role."""
        promoted, converted = self._promoted, self._converted
        kept_standby = _union(_union(kept.standby, promoted.standby), converted.standby)
        kept_warmup = _union(_union(kept.warmup, promoted.warmup), converted.warmup)
        return (
            OwnedTasks(kept.active, kept_standby, kept_warmup),
            OwnedTasks(
                revoked.active,
                _without(_without(revoked.standby, promoted.standby), converted.warmup),
                _without(_without(revoked.warmup, promoted.warmup), converted.standby),
            ),
            OwnedTasks(
                added.active, _without(added.standby, converted.standby), _without(added.warmup, converted.warmup)
            ),
        )

    def _promote(self, kept: OwnedTasks, added: OwnedTasks) -> tuple[OwnedTasks, OwnedTasks]:
        """Turn copies into active tasks that no other member owns any more."""
        assert self._is_active is not None
        active = {subtopology_id: dict(tasks) for subtopology_id, tasks in added.active.items()}
        free: dict[str, frozenset[int]] = {}
        for subtopology_id, partitions in _union(self._promoted.standby, self._promoted.warmup).items():
            released = frozenset(
                partition for partition in partitions if not self._is_active(subtopology_id, partition)
            )
            self._is_waiting |= len(released) < len(partitions)
            if released:
                free[subtopology_id] = released
                active.setdefault(subtopology_id, {}).update(dict.fromkeys(released, self._target_epoch))
        kept = OwnedTasks(kept.active, _without(kept.standby, free), _without(kept.warmup, free))
        return kept, OwnedTasks(active, added.standby, added.warmup)

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
            missing = target_tasks - owned - self._excluded(role, subtopology_id)
            free = frozenset(
                partition for partition in missing if not self._is_blocked(role, subtopology_id, partition)
            )
            self._is_waiting |= len(free) < len(missing)
            for by_subtopology, tasks in ((kept, owned & target_tasks), (revoked, owned - target_tasks), (added, free)):
                if tasks:
                    by_subtopology[subtopology_id] = tasks
        return kept, revoked, added

    def _excluded(self, role: Role, subtopology_id: str) -> frozenset[int]:
        """Return tasks that the member already owns in another role."""
        promoted, converted = self._promoted, self._converted
        if role is Role.ACTIVE:
            copies = promoted.standby.get(subtopology_id, frozenset())
            return copies | promoted.warmup.get(subtopology_id, frozenset())
        return (converted.standby if role is Role.STANDBY else converted.warmup).get(subtopology_id, frozenset())


class _Copies(NamedTuple):
    standby: Tasks
    warmup: Tasks


_NO_COPIES = _Copies({}, {})


def _common(owned: Mapping[str, Mapping[int, int] | frozenset[int]], tasks: Tasks) -> Tasks:
    common = {
        subtopology_id: partitions.intersection(owned.get(subtopology_id, ()))
        for subtopology_id, partitions in tasks.items()
    }
    return {subtopology_id: partitions for subtopology_id, partitions in common.items() if partitions}


def _without(tasks: Tasks, removed: Tasks) -> Tasks:
    remaining = {
        subtopology_id: partitions - removed.get(subtopology_id, frozenset())
        for subtopology_id, partitions in tasks.items()
    }
    return {subtopology_id: partitions for subtopology_id, partitions in remaining.items() if partitions}


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
