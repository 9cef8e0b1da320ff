"""Responses to members of streams groups (streams-groups §2)."""

from collections.abc import Iterable, Mapping

from kohort.coordinator.modern.group_refusals import Refusal
from kohort.coordinator.streams.streams_endpoints import partitions_by_endpoint
from kohort.coordinator.streams.streams_group import StreamsGroup
from kohort.coordinator.streams.streams_group_values import LEAVING_EPOCH, OwnedTasks
from kohort.coordinator.streams.streams_member import StreamsMember
from kohort.coordinator.streams.streams_values import Status as MemberStatus
from kohort.coordinator.streams.streams_values import StatusCode
from kohort.coordinator.streams.topology import ConfiguredTopology
from kohort.protocol.errors import ErrorCode
from kohort.protocol.messages.streams_group_heartbeat import Status, StreamsGroupHeartbeatResponse, TaskIds


def refused(refusal: Refusal) -> StreamsGroupHeartbeatResponse:
    return StreamsGroupHeartbeatResponse(error_code=refusal.error, error_message=refusal.message)


def leave_response(member: StreamsMember) -> StreamsGroupHeartbeatResponse:
    return StreamsGroupHeartbeatResponse(
        error_code=ErrorCode.none, member_id=member.member_id, member_epoch=LEAVING_EPOCH
    )


def shutdown_status(group: StreamsGroup) -> tuple[MemberStatus, ...]:
    if group.shutdown_requested_by is None:
        return ()
    detail = (
        f"Streams group member {group.shutdown_requested_by} encountered a fatal error and requested a shutdown for "
        "the entire application."
    )
    return (MemberStatus(StatusCode.SHUTDOWN_APPLICATION, detail),)


def answer(
    group: StreamsGroup,
    member: StreamsMember,
    topology: ConfiguredTopology,
    statuses: Iterable[MemberStatus],
    *,
    with_tasks: bool,
    seen_endpoints: int,
) -> StreamsGroupHeartbeatResponse:
    """Return the response to a member.

    If it includes the tasks of a member with an endpoint, the endpoint epoch is incremented, even if the heartbeat
    fails later.

    Args:
        seen_endpoints: Endpoint epoch that the member knows.

    Raises:
        NotConfigured: The topics of a subtopology are unknown.
    """
    if with_tasks and member.metadata.user_endpoint is not None:
        group.endpoint_epoch += 1
    current, config = member.current, group.coordinator.streams_config(group.group_id)
    response = StreamsGroupHeartbeatResponse(
        error_code=ErrorCode.none,
        member_id=member.member_id,
        member_epoch=current.epoch,
        heartbeat_interval_ms=config.heartbeat_interval_ms,
        status=tuple(Status(status_code=status.code, status_detail=status.detail) for status in statuses),
        endpoint_information_epoch=group.endpoint_epoch,
    )
    if with_tasks:
        _set_tasks(response, current.assigned)
    if group.endpoint_epoch != seen_endpoints:
        response.partitions_by_user_endpoint = partitions_by_endpoint(group, member, topology)
    return response


def _set_tasks(response: StreamsGroupHeartbeatResponse, assigned: OwnedTasks) -> None:
    response.active_tasks = task_ids(assigned.active)
    response.standby_tasks = task_ids(assigned.standby)
    response.warmup_tasks = task_ids(assigned.warmup)


def task_ids(tasks: Mapping[str, Iterable[int]]) -> tuple[TaskIds, ...]:
    return tuple(
        TaskIds(subtopology_id=subtopology_id, partitions=tuple(sorted(tasks[subtopology_id])))
        for subtopology_id in sorted(tasks)
    )
