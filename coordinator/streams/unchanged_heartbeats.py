"""Heartbeats without changes: those of members at their target, in a group in which nothing is due.

They are the most frequent ones. `nothing_new` returns the response of `StreamsHeartbeat` in a fraction of the time.
"""

from kohort.coordinator.coordinator import GroupCoordinator
from kohort.coordinator.modern.epoch_heartbeat import Sender
from kohort.coordinator.modern.membership import extend_session
from kohort.coordinator.streams.streams_config import StreamsConfig
from kohort.coordinator.streams.streams_group import StreamsGroup
from kohort.coordinator.streams.streams_group_values import StreamsMetadata
from kohort.coordinator.streams.streams_member import StreamsMember
from kohort.coordinator.streams.streams_replies import answer
from kohort.coordinator.streams.streams_targets import assignment_configs
from kohort.protocol.messages.streams_group_heartbeat import (
    StreamsGroupHeartbeatRequest,
    StreamsGroupHeartbeatResponse,
)


def nothing_new(
    coordinator: GroupCoordinator, request: StreamsGroupHeartbeatRequest, sender: Sender, now_ms: int
) -> StreamsGroupHeartbeatResponse | None:
    """Extend the session of a member without changes in either direction; return None, without effect, otherwise.

    The response is kept for the next such heartbeat, and must not be changed.
    """
    group = coordinator.groups.get(request.group_id)
    if not isinstance(group, StreamsGroup) or group.group_id in coordinator.unwritten:
        return None
    member, config = group.members.get(request.member_id), group.config
    if (
        member is None
        or request.member_epoch != group.epoch
        or not member.has_reached(group.epoch)
        or request.endpoint_information_epoch != group.endpoint_epoch
        or not _reports_nothing(request)
        or not keeps_metadata(member.metadata, request, sender)
        or not _is_steady(group, member, config, sender)
    ):
        return None
    rules = coordinator.settings.rules
    if request.instance_id is not None and not (
        rules.has_static_streams_members and group.static_members.get(request.instance_id) == member.member_id
    ):
        return None
    if request.task_offsets is not None or request.task_end_offsets is not None:
        if not rules.stores_task_offsets:
            return None
        store_offsets(member, request)
    extend_session(group, member, config.session_timeout_ms, now_ms)
    return _unchanged_answer(group, member, config)


def _reports_nothing(request: StreamsGroupHeartbeatRequest) -> bool:
    """Return whether a heartbeat has neither tasks nor a topology, and does not request a shutdown."""
    return (
        request.active_tasks is None
        and request.standby_tasks is None
        and request.warmup_tasks is None
        and request.topology is None
        and not request.shutdown_application
    )


def _is_steady(group: StreamsGroup, member: StreamsMember, config: StreamsConfig, sender: Sender) -> bool:
    """Return whether the heartbeat of a member at its target changes nothing, and its response has no status."""
    topology, current_topology = group.topology, group.configured
    if topology is None or current_topology is None:
        return False
    descriptions = group.coordinator.topology_descriptions
    return (
        group.target_epoch == group.epoch
        and group.checked_version == group.coordinator.topics.version
        and group.validated_topology_epoch == topology.epoch
        and current_topology.ready
        and not current_topology.status
        and not current_topology.missing_internal
        and group.configs == assignment_configs(config)
        and group.shutdown_requested_by is None
        and not group.is_delayed
        and member.metadata.topology_epoch >= topology.epoch
        and not (sender.can_describe_topology and descriptions is not None and descriptions.is_missing(group))
    )


def _unchanged_answer(
    group: StreamsGroup, member: StreamsMember, config: StreamsConfig
) -> StreamsGroupHeartbeatResponse:
    """Return the response to a member at its target that knows the endpoints."""
    kept_config, response = member.unchanged
    if (
        response is None
        or kept_config is not config
        or response.member_epoch != member.current.epoch
        or response.endpoint_information_epoch != group.endpoint_epoch
    ):
        assert group.configured is not None, "the caller checks"
        response = answer(group, member, group.configured, (), with_tasks=False, seen_endpoints=group.endpoint_epoch)
        member.unchanged = config, response
    return response


def keeps_metadata(previous: StreamsMetadata, request: StreamsGroupHeartbeatRequest, sender: Sender) -> bool:
    """Return whether a heartbeat has no other metadata than before, like most. Its topology is not compared."""
    return (
        request.process_id is None
        and request.rebalance_timeout_ms == -1
        and (request.instance_id is None or request.instance_id == previous.instance_id)
        and request.rack_id is None
        and request.user_endpoint is None
        and request.client_tags is None
        and previous.client_id == sender.client_id
        and previous.client_host == sender.client_host
    )


def store_offsets(member: StreamsMember, request: StreamsGroupHeartbeatRequest) -> None:
    if request.task_offsets is not None:
        member.task_offsets = request.task_offsets
    if request.task_end_offsets is not None:
        member.task_end_offsets = request.task_end_offsets
