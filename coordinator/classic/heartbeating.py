"""Heartbeat (classic-groups §6.1).

It is the most frequent request: one function handles it and reads only what it needs.
"""

from typing import Final

from kohort.coordinator.classic.classic_group import ClassicGroup
from kohort.coordinator.classic.sessions import extend
from kohort.coordinator.classic.states import State
from kohort.coordinator.coordinator import GroupCoordinator
from kohort.coordinator.groups.observer import UNOBSERVED
from kohort.protocol.errors import ErrorCode

_NONE: Final = ErrorCode.none
_EMPTY: Final = State.EMPTY


def heartbeat(
    coordinator: GroupCoordinator,
    group_id: str,
    member_id: str,
    group_instance_id: str | None,
    generation_id: int,
    now_ms: int,
) -> ErrorCode:
    """Extend the member's session and return the error of the response, with which the coordinator requests a rejoin.

    Errors: INVALID_GROUP_ID, NOT_COORDINATOR, UNKNOWN_MEMBER_ID, FENCED_INSTANCE_ID, ILLEGAL_GENERATION, or the one
    that `states.HEARTBEAT` lists. While the group's partition loads, every member receives NONE (classic-groups §1.3).
    """
    group = coordinator.groups.get(group_id)
    # The group with the empty id can have offsets, but no members.
    if not isinstance(group, ClassicGroup) or not group_id:
        return _without_group(coordinator, group_id)
    if group_instance_id is not None:
        error = group.check_member(member_id, group_instance_id)
        if error is not _NONE:
            return error
    member = group.members.get(member_id)
    if member is None:
        return ErrorCode.unknown_member_id
    if generation_id != group.generation_id:
        return ErrorCode.illegal_generation
    extend(group, member, now_ms)
    if coordinator.observer is not UNOBSERVED and member.stats is not None:
        stats = member.stats
        gap_ms = now_ms - stats.last_active_ms
        stats.last_active_ms = now_ms
        stats.gaps[gap_ms] += 1
        if gap_ms + gap_ms > member.session_timeout_ms:
            coordinator.observer.heartbeat_gap(group, member, gap_ms)
    return coordinator.heartbeats[group.state]


def _without_group(coordinator: GroupCoordinator, group_id: str) -> ErrorCode:
    if not group_id:
        return ErrorCode.invalid_group_id
    error = coordinator.availability(group_id)
    if error is ErrorCode.coordinator_load_in_progress:
        return _NONE
    return ErrorCode.unknown_member_id if error is _NONE else error
