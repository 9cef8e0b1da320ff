"""Removal of groups that are deleted, unloaded or could not be created."""

from kohort.coordinator.classic import pending_sync
from kohort.coordinator.classic.classic_group import ClassicGroup
from kohort.coordinator.classic.rebalancing import stop_waiting
from kohort.coordinator.classic.replies import reject_waiting
from kohort.coordinator.classic.states import State
from kohort.coordinator.effects import Cause
from kohort.protocol.errors import ErrorCode


def dissolve(group: ClassicGroup, error: ErrorCode, cause: Cause, now_ms: int) -> None:
    """Remove a group with its timers and pending ids, and answer waiting joins and syncs with `error`."""
    reject_waiting(group, error)
    for member in group.members.values():
        if member.session is not None:
            group.coordinator.purgatory.cancel(member.session)
            member.session = None
    for member_id in list(group.pending_joins or ()):
        group.forget_pending(member_id)
    pending_sync.stop(group)
    stop_waiting(group)
    group.coordinator.remove(group)
    group.move(State.DEAD, cause, now_ms)
    group.coordinator.observer.group_gone(group, cause.name)


def dissolve_but_for_offsets(group: ClassicGroup, error: ErrorCode, cause: Cause, now_ms: int) -> None:
    """Remove a group like `dissolve`, but keep offsets that are in the log, as those of a simple group."""
    dissolve(group, error, cause, now_ms)
    if group.offsets:
        simple = group.coordinator.create_group(group.group_id, now_ms)
        simple.offsets = group.offsets
        group.coordinator.observer.group_created(simple)
