"""The way of a member from the tasks it has to those it is to have, step by step (streams-groups §9).

Tasks are taken away before any is given. What others still have is given when they have let go; so is what the member
itself is to have in another role than before. Source: Kafka's `CurrentAssignmentBuilder`.
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

IsBlocked = Callable[[Role, str, int], bool]
"""Whether a task of a subtopology may not be given in that role yet."""


def reconcile(
    current: StreamsAssignment,
    target: TaskSets,
    target_epoch: int,
    *,
    reported: TaskSets | None,
    is_blocked: IsBlocked,
) -> StreamsAssignment | None:
    """The next step; `current` itself where there is none. None: the member must be fenced.

    `reported`: the tasks that the member says it has; None where it did not say.
    """
    state, epoch = current.state, current.epoch
    if state is StreamsMemberState.STABLE and epoch == target_epoch:
        return current
    if state is StreamsMemberState.UNREVOKED_TASKS:
        if _has_any(reported, current.revoking):
            return current
        epoch += 1
    if state is StreamsMemberState.UNKNOWN:
        # Only a newer broker knows what this was: the member must begin without tasks.
        if reported is None or reported != TaskSets():
            return None
        epoch = target_epoch
    return _Step(current, target, target_epoch, is_blocked).taken(epoch, reported)


def _has_any(reported: TaskSets | None, tasks: OwnedTasks) -> bool:
    """Whether the member may still have one of the tasks in its role. It may where it does not say."""
    if reported is None:
        return True
    said = (reported.active, reported.standby, reported.warmup)
    return any(map(_meet, said, tasks.roles))


def _meet(reported: Tasks, tasks: Mapping[str, Mapping[int, int] | frozenset[int]]) -> bool:
    return any(not each.isdisjoint(tasks.get(subtopology_id, ())) for subtopology_id, each in reported.items())


class _Step:
    """What stays, goes and comes."""

    def __init__(self, current: StreamsAssignment, target: TaskSets, target_epoch: int, is_blocked: IsBlocked) -> None:
        self._current = current
        self._target_epoch = target_epoch
        self._is_blocked = is_blocked
        self._waiting = False
        assigned = current.assigned
        self._active = self._compare_active(assigned.active, target.active)
        self._standby = self._compare(Role.STANDBY, assigned.standby, target.standby)
        self._warmup = self._compare(Role.WARMUP, assigned.warmup, target.warmup)

    def taken(self, epoch: int, reported: TaskSets | None) -> StreamsAssignment:
        """The member after it. `epoch`: what it keeps if it has to give up something first."""
        kept, revoked, given = (
            OwnedTasks(*each) for each in zip(self._active, self._standby, self._warmup, strict=True)
        )
        before = self._current.epoch
        if revoked and _has_any(reported, revoked):
            return StreamsAssignment(epoch, before, StreamsMemberState.UNREVOKED_TASKS, kept, revoked)
        state = StreamsMemberState.UNRELEASED_TASKS if self._waiting else StreamsMemberState.STABLE
        return StreamsAssignment(self._target_epoch, before, state, _merged(kept, given), NO_OWNED_TASKS)

    def _compare_active(self, assigned: Owned, target: Tasks) -> tuple[Owned, Owned, Owned]:
        kept, revoked, given = self._compare(
            Role.ACTIVE, {each: frozenset(assigned[each]) for each in assigned}, target
        )
        return (
            _with_epochs(kept, assigned),
            _with_epochs(revoked, assigned),
            {subtopology_id: dict.fromkeys(each, self._target_epoch) for subtopology_id, each in given.items()},
        )

    def _compare(self, role: Role, assigned: Tasks, target: Tasks) -> tuple[Tasks, Tasks, Tasks]:
        """The tasks of a role that stay, that go, and that may come now."""
        kept: dict[str, frozenset[int]] = {}
        revoked: dict[str, frozenset[int]] = {}
        given: dict[str, frozenset[int]] = {}
        for subtopology_id in {**assigned, **target}:
            had = assigned.get(subtopology_id, frozenset())
            wanted = target.get(subtopology_id, frozenset())
            missing = wanted - had
            free = frozenset(each for each in missing if not self._is_blocked(role, subtopology_id, each))
            self._waiting |= len(free) < len(missing)
            for where, tasks in ((kept, had & wanted), (revoked, had - wanted), (given, free)):
                if tasks:
                    where[subtopology_id] = tasks
        return kept, revoked, given


def _with_epochs(tasks: Tasks, assigned: Owned) -> Owned:
    return {
        subtopology_id: {each: epoch for each, epoch in assigned[subtopology_id].items() if each in partitions}
        for subtopology_id, partitions in tasks.items()
    }


def _merged(kept: OwnedTasks, given: OwnedTasks) -> OwnedTasks:
    active = {
        subtopology_id: {**kept.active.get(subtopology_id, {}), **given.active.get(subtopology_id, {})}
        for subtopology_id in {**kept.active, **given.active}
    }
    return OwnedTasks(active, _union(kept.standby, given.standby), _union(kept.warmup, given.warmup))


def _union(kept: Tasks, given: Tasks) -> Tasks:
    return {
        subtopology_id: kept.get(subtopology_id, frozenset()) | given.get(subtopology_id, frozenset())
        for subtopology_id in {**kept, **given}
    }
