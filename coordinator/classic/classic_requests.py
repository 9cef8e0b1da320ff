"""Requests of the classic protocol, which classic groups and consumer groups serve.

Checks that both share are here, or in `classic/` before it finds that the group does not exist. The code for consumer
groups is loaded by the first request for one: most brokers in tests have none.
"""

from typing import TYPE_CHECKING, cast

from kohort.coordinator.classic import joining, syncing
from kohort.coordinator.classic.classic_group import ClassicGroup
from kohort.coordinator.classic.joining import Joiner
from kohort.coordinator.classic.replies import join_refused
from kohort.coordinator.coordinator import GroupCoordinator
from kohort.coordinator.groups.group import CONSUMER, SHARE
from kohort.protocol.errors import ErrorCode
from kohort.protocol.messages.join_group import JoinGroupRequest, JoinGroupResponse
from kohort.protocol.messages.sync_group import SyncGroupRequest, SyncGroupResponse

if TYPE_CHECKING:
    from kohort.coordinator.consumer.consumer_group import ConsumerGroup
    from kohort.protocol.messages.leave_group import LeaveGroupRequest, LeaveGroupResponse


def join_group(
    coordinator: GroupCoordinator, request: JoinGroupRequest, joiner: Joiner, now_ms: int
) -> JoinGroupResponse | None:
    """Handle JoinGroup. It converts an empty consumer or streams group to a classic one (consumer-groups §17.1).

    The migration policy does not apply. Share groups are not converted.
    """
    group = coordinator.groups.get(request.group_id)
    if group is None or isinstance(group, ClassicGroup):
        return joining.join_group(coordinator, group, request, joiner, now_ms)
    refusal = joining.check_request(coordinator.settings, request)
    if refusal is not None:
        return refusal
    if group.group_type == CONSUMER and not group.is_empty:
        from kohort.coordinator.consumer import classic_members

        return classic_members.join(cast("ConsumerGroup", group), request, joiner, now_ms)
    if not group.is_empty or group.group_type == SHARE:
        return join_refused(ErrorCode.inconsistent_group_protocol, "")
    _make_room(coordinator, request, now_ms)
    return joining.join_group(coordinator, coordinator.classic_group(request.group_id), request, joiner, now_ms)


def _make_room(coordinator: GroupCoordinator, request: JoinGroupRequest, now_ms: int) -> None:
    """Convert a group without members to a classic one.

    A request with a member id is rejected, and the group is hidden all the same (`forgotten_groups.py`), unless it has
    unfinished writes or offsets in an open transaction, which the classic group has to get.
    """
    from kohort.coordinator.group_succession import forget_empty_group, replace_empty_group

    group_id = request.group_id
    group = coordinator.committing_group(group_id)
    assert group is not None, "only such groups become classic"
    busy = group.pending_offsets is not None or group.commits_in_flight or group_id in coordinator.unwritten
    if request.member_id and not busy:
        forget_empty_group(coordinator, group)
    else:
        replace_empty_group(coordinator, group, now_ms)


def sync_group(
    coordinator: GroupCoordinator, request: SyncGroupRequest, ticket: object, now_ms: int
) -> SyncGroupResponse | None:
    """Handle SyncGroup. Return None if it waits for the leader's request, which members of consumer groups never do."""
    group = coordinator.groups.get(request.group_id)
    if group is not None and group.group_type == CONSUMER:
        from kohort.coordinator.consumer import classic_members

        return classic_members.sync(cast("ConsumerGroup", group), request, now_ms)
    classic_group = group if isinstance(group, ClassicGroup) else None
    return syncing.sync_group(coordinator, classic_group, request, ticket, now_ms)


def heartbeat_in_consumer_group(
    coordinator: GroupCoordinator,
    group_id: str,
    member_id: str,
    group_instance_id: str | None,
    generation_id: int,
    now_ms: int,
) -> ErrorCode:
    """Handle a heartbeat of a member that is in no classic group. Heartbeats of classic members stay fast this way."""
    group = coordinator.consumer_group(group_id)
    if group is None:
        return ErrorCode.unknown_member_id
    from kohort.coordinator.consumer import classic_members

    return classic_members.heartbeat(group, member_id, group_instance_id, generation_id, now_ms)


def leave_group(
    coordinator: GroupCoordinator, request: "LeaveGroupRequest", ticket: object, now_ms: int
) -> "LeaveGroupResponse | None":
    group = coordinator.consumer_group(request.group_id)
    if group is not None:
        from kohort.coordinator.consumer import classic_members

        return classic_members.leave(group, request, ticket, now_ms)
    from kohort.coordinator.classic import leaving  # not loaded by the first JoinGroup

    return leaving.leave_group(coordinator, request, ticket, now_ms)
