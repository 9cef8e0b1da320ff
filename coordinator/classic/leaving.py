"""LeaveGroup (classic-groups §6.4)."""

from kohort.coordinator.classic.classic_group import ClassicGroup
from kohort.coordinator.classic.rebalancing import UNFORESEEN, maybe_complete_join, prepare_rebalance, stuck
from kohort.coordinator.classic.replies import answer_join, join_refused
from kohort.coordinator.classic.states import State
from kohort.coordinator.coordinator import GroupCoordinator
from kohort.coordinator.effects import Cause, GroupWarning, Reply
from kohort.protocol.errors import ErrorCode
from kohort.protocol.messages.leave_group import LeaveGroupRequest, LeaveGroupResponse, MemberIdentity, MemberResponse

# The reason that Java's and librdkafka's consumers send when they leave because they were not polled in time.
POLL_TIMEOUT = "poll timeout"


def leave_group(
    coordinator: GroupCoordinator, request: LeaveGroupRequest, ticket: object, now_ms: int
) -> LeaveGroupResponse | None:
    """Remove members, by id or by instance id. Return None if the response waits until the emptied group is written.

    There is one result per entry, in their order: NONE, UNKNOWN_MEMBER_ID or FENCED_INSTANCE_ID. Errors of the whole
    request: INVALID_GROUP_ID, NOT_COORDINATOR, COORDINATOR_LOAD_IN_PROGRESS; UNKNOWN_SERVER_ERROR where Kafka fails,
    too.
    """
    if not request.group_id:
        return _refused(ErrorCode.invalid_group_id)
    group = coordinator.classic_group(request.group_id)
    if group is None:
        error = coordinator.availability(request.group_id)
        if error is not ErrorCode.none:
            return _refused(error)
        return _success(tuple(_entry(leaver, ErrorCode.unknown_member_id) for leaver in request.members))
    cause: Cause | None = None
    entries = []
    for leaver in request.members:
        waiting_joins = group.waiting_joins
        result = _leave(group, leaver)
        # If the leaver's join was waiting, the other members did not wait for it.
        if isinstance(result, Cause) and (cause is None or group.waiting_joins == waiting_joins):
            cause = result
        entries.append(_entry(leaver, ErrorCode.none if isinstance(result, Cause) else result))
    response = _success(tuple(entries))
    if cause is None:
        return response
    try:
        token = _rebalance(group, cause, now_ms)
    except UNFORESEEN as fault:
        coordinator.effects.append(GroupWarning(group.group_id, stuck(fault)))
        return _refused(ErrorCode.unknown_server_error)
    if token is None:
        return response
    coordinator.after(token, lambda error, _: coordinator.effects.append(Reply(ticket, _outcome(response, error))))
    return None


def _leave(group: ClassicGroup, leaver: MemberIdentity) -> Cause | ErrorCode:
    member_id, instance_id, reason = leaver.member_id, leaver.group_instance_id, leaver.reason or ""
    if not member_id:
        by_instance = group.static_member_id(instance_id)
        if by_instance is None:
            return ErrorCode.unknown_member_id
        return _remove(group, by_instance, "leave_admin", reason)
    if group.is_pending(member_id):
        group.forget_pending(member_id)
        group.coordinator.observer.member_id_discarded(group, member_id)
        # Kafka reports success and rebalances, although the member never was in the group (classic-groups §6.4).
        return Cause("leave_explicit", member_id, reason=reason)
    error = group.check_member(member_id, instance_id)
    if error is not ErrorCode.none:
        return error
    return _remove(group, member_id, "leave_poll_timeout" if POLL_TIMEOUT in reason else "leave_explicit", reason)


def _rebalance(group: ClassicGroup, cause: Cause, now_ms: int) -> int | None:
    if group.state in (State.STABLE, State.COMPLETING_REBALANCE):
        return prepare_rebalance(group, cause, now_ms)
    return maybe_complete_join(group, now_ms, cause)


def _remove(group: ClassicGroup, member_id: str, name: str, reason: str) -> Cause:
    member = group.members[member_id]
    has_joined = member.join_ticket is not None
    answer_join(group, member, join_refused(ErrorCode.unknown_member_id, ""))
    if member.sync_ticket is not None:
        warning = f"{member_id} was removed while its SyncGroup waited; as in Kafka that request is never answered"
        group.coordinator.effects.append(GroupWarning(group.group_id, warning))
    group.remove(member_id)
    group.coordinator.observer.member_removed(group, member, name, reason, has_joined=has_joined)
    return member.cause(name, reason)


def _entry(leaver: MemberIdentity, error: ErrorCode) -> MemberResponse:
    return MemberResponse(member_id=leaver.member_id, group_instance_id=leaver.group_instance_id, error_code=error)


def _success(members: tuple[MemberResponse, ...]) -> LeaveGroupResponse:
    return LeaveGroupResponse(error_code=ErrorCode.none, members=members)


def _refused(error: ErrorCode) -> LeaveGroupResponse:
    return LeaveGroupResponse(error_code=error, members=())


def _outcome(response: LeaveGroupResponse, error: ErrorCode) -> LeaveGroupResponse:
    return response if error is ErrorCode.none else _refused(error)
