"""Responses to members of streams groups (streams-groups §2)."""

from collections.abc import Iterable, Mapping

from kohort.coordinator.streams.streams_endpoints import partitions_by_endpoint
from kohort.coordinator.streams.streams_group import StreamsGroup
from kohort.coordinator.streams.streams_group_values import OwnedTasks, StreamsMetadata
from kohort.coordinator.streams.streams_member import StreamsMember
from kohort.coordinator.streams.streams_values import Status as MemberStatus
from kohort.coordinator.streams.streams_values import StatusCode
from kohort.coordinator.streams.topology import ConfiguredTopology
from kohort.protocol.errors import ErrorCode
from kohort.protocol.messages.streams_group_heartbeat import Status, StreamsGroupHeartbeatResponse, TaskIds


def shutdown_status(group: StreamsGroup) -> tuple[MemberStatus, ...]:
    if group.shutdown_requested_by is None:
        return ()
    detail = (
        f"Streams group member {group.shutdown_requested_by} encountered a fatal error and requested a shutdown for "
        "the entire application."
    )
    return (MemberStatus(StatusCode.SHUTDOWN_APPLICATION, detail),)


def missing_tags_status(group: StreamsGroup, metadata: StreamsMetadata) -> tuple[MemberStatus, ...]:
    """Return a status for a member that lacks client tags that the group requires."""
    if not group.coordinator.settings.rules.asks_for_client_tags:
        return ()
    tags = dict(metadata.client_tags)
    missing = [tag for tag in group.config.rack_aware_tags if tag not in tags]
    if not missing:
        return ()
    detail = (
        f"Missing required client tags for rack-aware standby assignment: [{', '.join(missing)}]. Configure them via "
        "'client.tag.<tagKey>' in your Streams config."
    )
    return (MemberStatus(StatusCode.MISSING_CLIENT_TAGS, detail),)


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

    Args:
        seen_endpoints: Endpoint epoch that the member knows.

    Raises:
        NotConfigured: The topics of a subtopology are unknown.
    """
    current, config = member.current, group.config
    response = StreamsGroupHeartbeatResponse(
        error_code=ErrorCode.none,
        member_id=member.member_id,
        member_epoch=current.epoch,
        heartbeat_interval_ms=config.heartbeat_interval_ms,
        status=tuple(Status(status_code=status.code, status_detail=status.detail) for status in statuses),
        endpoint_information_epoch=group.endpoint_epoch,
    )
    if group.coordinator.settings.rules.reports_task_offset_interval:
        response.task_offset_interval_ms = config.task_offset_interval_ms
        response.acceptable_recovery_lag = config.acceptable_recovery_lag
    if with_tasks:
        _set_tasks(response, current.assigned)
    if group.endpoint_epoch != seen_endpoints:
        response.partitions_by_user_endpoint = partitions_by_endpoint(group, member, topology)
    return response


def append_status_detail(response: StreamsGroupHeartbeatResponse, text: str) -> None:
    for status in response.status or ():
        if status.status_code == StatusCode.MISSING_INTERNAL_TOPICS:
            status.status_detail += text


def request_description(group: StreamsGroup, response: StreamsGroupHeartbeatResponse, now_ms: int) -> None:
    """Request a description of the topology in a response if it is missing, unless the member's topology is stale."""
    descriptions = group.coordinator.topology_descriptions
    if descriptions is not None:
        is_stale = any(status.status_code == StatusCode.STALE_TOPOLOGY for status in response.status or ())
        response.topology_description_required = not is_stale and descriptions.request(group, now_ms)


def _set_tasks(response: StreamsGroupHeartbeatResponse, assigned: OwnedTasks) -> None:
    response.active_tasks = task_ids(assigned.active)
    response.standby_tasks = task_ids(assigned.standby)
    response.warmup_tasks = task_ids(assigned.warmup)


def task_ids(tasks: Mapping[str, Iterable[int]]) -> tuple[TaskIds, ...]:
    return tuple(
        TaskIds(subtopology_id=subtopology_id, partitions=tuple(sorted(tasks[subtopology_id])))
        for subtopology_id in sorted(tasks)
    )
