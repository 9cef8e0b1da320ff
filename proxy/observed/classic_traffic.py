"""SyncGroup, Heartbeat, LeaveGroup and rejected commits in the observed traffic of a classic group."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kohort.coordinator.classic.leaving import POLL_TIMEOUT
from kohort.coordinator.classic.states import State
from kohort.coordinator.effects import Cause
from kohort.protocol.errors import ErrorCode
from kohort.proxy.observed.classic_joins import on_member_error, on_rebalance_error
from kohort.proxy.observed.observed_classic_group import GENERATION_STATES, NONE, ObservedClassicGroup
from kohort.proxy.observed.observed_events import ANSWER, REFUSAL, REQUEST

if TYPE_CHECKING:
    from kohort.protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
    from kohort.protocol.messages.leave_group import LeaveGroupRequest, LeaveGroupResponse
    from kohort.protocol.messages.offset_commit import OffsetCommitRequest
    from kohort.protocol.messages.sync_group import SyncGroupRequest, SyncGroupResponse
    from kohort.proxy.tap import ObservedCall


def on_sync_request(group: ObservedClassicGroup, observed: ObservedCall, request: SyncGroupRequest) -> None:
    """Note a member's SyncGroup, with the assignments if it is the leader's."""
    group.syncs[observed] = request
    member = group.members.get(request.member_id)
    if member is not None and request.generation_id == group.classic.generation_id:
        member.sync_ticket = observed
        if request.assignments and group.unreported_assignment is None and group.classic.state is not State.STABLE:
            assignments = {assignment.member_id: assignment.assignment for assignment in request.assignments}
            group.unreported_assignment = member, assignments


def on_sync_response(group: ObservedClassicGroup, observed: ObservedCall, answer: SyncGroupResponse | None) -> None:
    """Apply the assignment or the error; None if the response was not copied."""
    request = group.syncs.pop(observed, None)
    if request is None:
        return
    member = group.members.get(request.member_id)
    if member is not None and member.sync_ticket is observed:
        member.sync_ticket = None
    if answer is None:
        return
    if answer.error_code is not NONE:
        on_member_error(group, request.member_id, request.group_instance_id, answer.error_code)
        return
    group.adopt_generation(request.generation_id)
    _on_synced(group, observed, request, answer)


def _on_synced(
    group: ObservedClassicGroup, observed: ObservedCall, request: SyncGroupRequest, answer: SyncGroupResponse
) -> None:
    classic = group.classic
    member = group.members.get(request.member_id) or group.add_active_member(observed, request.member_id, request)
    classic.protocol_type = answer.protocol_type or classic.protocol_type
    classic.protocol_name = answer.protocol_name or classic.protocol_name
    if group.unreported_assignment is not None and classic.state is State.COMPLETING_REBALANCE:
        leader, assignments = group.unreported_assignment
        group.unreported_assignment = None
        group.evidence = f"{REQUEST}, and its response"
        group.events.assignment_received(classic, leader, assignments)
        for member_id in group.unobserved_ids:
            group.members[member_id].assignment = assignments.get(member_id, b"")
    member.assignment = answer.assignment
    group.note_request(member)
    if member.member_id in group.unsynced:  # else it is a repeated request
        group.unsynced.discard(member.member_id)
        group.evidence = ANSWER
        group.events.member_synced(classic, member)
    if classic.state is not State.STABLE and not _is_sync_pending(group, classic.generation_id):
        group.set_state(State.STABLE)
        group.needs_description |= bool(group.unobserved_ids)
        group.events.rebalance_completed(classic)


def _is_sync_pending(group: ObservedClassicGroup, generation_id: int) -> bool:
    return any(sync.generation_id == generation_id for sync in group.syncs.values())


def on_heartbeat_response(
    group: ObservedClassicGroup, observed: ObservedCall, request: HeartbeatRequest, answer: HeartbeatResponse
) -> None:
    """Note whether the cluster knows the member."""
    error = answer.error_code
    if error not in (NONE, ErrorCode.rebalance_in_progress):
        on_member_error(group, request.member_id, request.group_instance_id, error)
        return
    group.adopt_generation(request.generation_id)
    member = group.members.get(request.member_id) or group.add_active_member(observed, request.member_id, request)
    group.note_connection(member, observed)
    group.note_heartbeat(member.member_id)
    if error is not NONE:
        on_rebalance_error(group)
    elif not group.is_state_known:
        group.set_state(State.STABLE)


def on_leave_response(group: ObservedClassicGroup, request: LeaveGroupRequest, answer: LeaveGroupResponse) -> None:
    """Remove members that left or were removed by an administrator."""
    if answer.error_code is not NONE:
        return
    causes = []
    results = answer.members or [None] * len(request.members)
    for identity, result in zip(request.members, results, strict=False):
        if result is not None and result.error_code is not NONE:
            continue
        member = group.members.get(identity.member_id) or group.find_static_member(identity.group_instance_id)
        reason = identity.reason or ""
        name = "leave_poll_timeout" if POLL_TIMEOUT in reason else "leave_explicit"
        if member is None and identity.member_id in group.issued_ids:
            # The group rebalances although the member was never in it.
            del group.issued_ids[identity.member_id]
            group.unused_ids.pop(identity.member_id, None)
            group.events.member_id_discarded(group.classic, identity.member_id)
            causes.append(Cause("leave_explicit", identity.member_id, reason=reason))
        if member is not None:
            causes.append(member.cause(name if identity.member_id else "leave_admin", reason))
            group.evidence = REQUEST
            group.remove(member, REQUEST, causes[-1].name, reason)
    if causes and group.classic.state in GENERATION_STATES:
        group.start_rebalance(causes[-1])
    if group.is_complete and not group.members and group.classic.state is State.PREPARING_REBALANCE:
        _on_empty(group)


def _on_empty(group: ObservedClassicGroup) -> None:
    group.events.join_completed(group.classic, (), 0)
    group.set_state(State.EMPTY)
    group.events.emptied(group.classic)(NONE, 0)
    group.missing_ids = []


def on_commit_error(
    group: ObservedClassicGroup, request: OffsetCommitRequest, error: ErrorCode, observed: ObservedCall
) -> None:
    member_id, generation_id = request.member_id, request.generation_id_or_member_epoch
    group.evidence = REFUSAL
    group.events.commit_rejected(group.classic, member_id, generation_id, error, observed)
    if (
        error is not ErrorCode.rebalance_in_progress
    ):  # a commit receives it, too, while members have joined and not synced
        on_member_error(group, member_id, request.group_instance_id, error)


def on_close(group: ObservedClassicGroup, observed: ObservedCall) -> None:
    """Drop a request whose connection has ended."""
    join, sync = group.joins.pop(observed, None), group.syncs.pop(observed, None)
    for member in group.members.values():
        if join is not None and member.join_ticket is observed:
            member.join_ticket = None
        if sync is not None and member.sync_ticket is observed:
            member.sync_ticket = None
