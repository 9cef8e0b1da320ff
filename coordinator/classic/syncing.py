"""SyncGroup (classic-groups §5)."""

from typing import Final

from kohort.coordinator.classic import pending_sync, sessions
from kohort.coordinator.classic.classic_group import ClassicGroup
from kohort.coordinator.classic.classic_member import NO_ASSIGNMENT, Member
from kohort.coordinator.classic.persisting import append_group
from kohort.coordinator.classic.rebalancing import rebalance_or_complete, refuse_waiting_syncs
from kohort.coordinator.classic.replies import answer_syncs, sync_refused, synced
from kohort.coordinator.classic.states import SYNC, State
from kohort.coordinator.coordinator import GroupCoordinator
from kohort.protocol.errors import ErrorCode
from kohort.protocol.messages.sync_group import SyncGroupRequest, SyncGroupResponse

_NONE: Final = ErrorCode.none
_COMPLETING_REBALANCE: Final = State.COMPLETING_REBALANCE
_STABLE: Final = State.STABLE


def sync_group(
    coordinator: GroupCoordinator, group: ClassicGroup | None, request: SyncGroupRequest, ticket: object, now_ms: int
) -> SyncGroupResponse | None:
    """Return the member's assignment, or None if the request waits for the leader's assignment.

    Old versions leave `request.protocol_type` and `protocol_name` None. Errors, in the order of the checks
    (classic-groups §5.1): INVALID_GROUP_ID, NOT_COORDINATOR, COORDINATOR_LOAD_IN_PROGRESS, UNKNOWN_MEMBER_ID,
    FENCED_INSTANCE_ID, ILLEGAL_GENERATION, INCONSISTENT_GROUP_PROTOCOL, or the one that `states.SYNC` lists.
    """
    if not request.group_id:
        return sync_refused(ErrorCode.invalid_group_id)
    if group is None:
        error = coordinator.availability(request.group_id)
        return sync_refused(ErrorCode.unknown_member_id if error is _NONE else error)
    error = _check(group, request)
    if error is not _NONE:
        return sync_refused(error)
    refusal = SYNC[group.state]
    if refusal is not None:
        return sync_refused(refusal)
    member = group.members[request.member_id]
    if group.state is _STABLE:
        first = group.pending_sync is not None and member.member_id in group.pending_sync
        pending_sync.received(group, member.member_id)
        if first:
            coordinator.observer.member_synced(group, member)
        return synced(group, member)
    _await_assignment(group, member, request, ticket, now_ms)
    return None


def _check(group: ClassicGroup, request: SyncGroupRequest) -> ErrorCode:
    error = group.check_member(request.member_id, request.group_instance_id)
    if error is not _NONE:
        return error
    if request.generation_id != group.generation_id:
        return ErrorCode.illegal_generation
    if _differ(request.protocol_type, group.protocol_type) or _differ(request.protocol_name, group.protocol_name):
        return ErrorCode.inconsistent_group_protocol
    return _NONE


def _differ(requested: str | None, current: str | None) -> bool:
    return requested is not None and current is not None and requested != current


def _await_assignment(
    group: ClassicGroup, member: Member, request: SyncGroupRequest, ticket: object, now_ms: int
) -> None:
    """Hold the request until the leader's arrives, which contains the assignment (classic-groups §5.2).

    An earlier request of the same member is never answered.
    """
    member.sync_ticket = ticket
    pending_sync.received(group, member.member_id)
    if member.member_id != group.leader_id:
        return
    generation_id = group.generation_id
    assignments = {a.member_id: a.assignment for a in request.assignments}
    observer = group.coordinator.observer
    stored = observer.assignment_received(group, member, assignments)

    def written(error: ErrorCode, now_ms: int) -> None:
        stored(error)
        # If a member has joined since, the assignment is obsolete although it is in the log.
        if group.state is not _COMPLETING_REBALANCE or group.generation_id != generation_id:
            return
        if error is not _NONE:
            refuse_waiting_syncs(group, error, now_ms)
            rebalance_or_complete(group, member.cause("assignment_store_failed"), now_ms)
            return
        _hand_out(group, assignments, now_ms)
        group.move(_STABLE, member.cause("assignment_stored"), now_ms)
        observer.rebalance_completed(group)

    append_group(group, now_ms, written, assignments)


def _hand_out(group: ClassicGroup, assignments: dict[str, bytes], now_ms: int) -> None:
    """Set the assignment of every member, empty if the leader sent none for it, and answer the waiting requests."""
    waiting = []
    for member in group.members.values():
        member.assignment = assignments.get(member.member_id, NO_ASSIGNMENT)
        ticket, member.sync_ticket = member.sync_ticket, None
        if ticket is not None:
            waiting.append((ticket, member.assignment))
            sessions.extend(group, member, now_ms)
            group.coordinator.observer.member_synced(group, member)
    answer_syncs(group, waiting)
