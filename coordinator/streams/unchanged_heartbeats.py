"""Heartbeats that report nothing new, in a group in which nothing is due: nearly all.

Responses and effects are those of `StreamsHeartbeat`, in a fraction of the time.
"""

from kohort.coordinator.coordinator import GroupCoordinator
from kohort.coordinator.effects import Reply
from kohort.coordinator.modern.epoch_heartbeat import Sender
from kohort.coordinator.modern.group_changes import GroupChanges
from kohort.coordinator.modern.membership import cause_of, extend_session, watch_revocation
from kohort.coordinator.streams.streams_config import StreamsConfig
from kohort.coordinator.streams.streams_group import StreamsGroup
from kohort.coordinator.streams.streams_group_values import StreamsKind, StreamsMetadata
from kohort.coordinator.streams.streams_member import StreamsMember
from kohort.coordinator.streams.streams_reconciling import next_epoch
from kohort.coordinator.streams.streams_replies import answer
from kohort.coordinator.streams.streams_targets import assignment_configs
from kohort.protocol.errors import ErrorCode
from kohort.protocol.messages.streams_group_heartbeat import (
    StreamsGroupHeartbeatRequest,
    StreamsGroupHeartbeatResponse,
)


def nothing_new(
    coordinator: GroupCoordinator, request: StreamsGroupHeartbeatRequest, sender: Sender, now_ms: int
) -> StreamsGroupHeartbeatResponse | None:
    """Extend the session of a member without changes in either direction; return None, without effect, otherwise."""
    group = coordinator.groups.get(request.group_id)
    if not isinstance(group, StreamsGroup):
        return None
    config = group.config
    member = find_unchanged(group, config, request, sender)
    return None if member is None else keep_unchanged(group, config, member, request, now_ms)


def find_unchanged(
    group: StreamsGroup, config: StreamsConfig, request: StreamsGroupHeartbeatRequest, sender: Sender
) -> StreamsMember | None:
    """Return the member if its heartbeat reports nothing new, and no target or status of its group is due."""
    member = group.members.get(request.member_id)
    if (
        member is None
        or request.member_epoch != member.current.epoch
        or request.member_epoch <= 0
        or request.endpoint_information_epoch != group.endpoint_epoch
        or not _reports_nothing(request)
        or not keeps_metadata(member.metadata, request, sender)
        or not _is_steady(group, config, member, sender)
    ):
        return None
    rules = group.coordinator.settings.rules
    if request.instance_id is not None and not (
        rules.has_static_streams_members and group.static_members.get(request.instance_id) == member.member_id
    ):
        return None
    has_offsets = request.task_offsets is not None or request.task_end_offsets is not None
    return None if has_offsets and not rules.stores_task_offsets else member


def keep_unchanged(
    group: StreamsGroup,
    config: StreamsConfig,
    member: StreamsMember,
    request: StreamsGroupHeartbeatRequest,
    now_ms: int,
) -> StreamsGroupHeartbeatResponse | None:
    """Extend the session of a member at its target; return None, without effect, for another one or before a write.

    The response is kept for the next such heartbeat, and must not be changed.
    """
    if not member.has_reached(group.epoch) or group.group_id in group.coordinator.unwritten:
        return None
    store_offsets(member, request)
    extend_session(group, member, config.session_timeout_ms, now_ms)
    return _unchanged_answer(group, config, member)


def take_next_epoch(
    group: StreamsGroup,
    config: StreamsConfig,
    member: StreamsMember,
    request: StreamsGroupHeartbeatRequest,
    sender: Sender,
    now_ms: int,
) -> bool:
    """Move a member whose tasks are its target to the group's epoch; return whether the response follows the write.

    Nearly all members of a large group need only this after each change.
    """
    coordinator = group.coordinator
    if sender.can_describe_topology and coordinator.topology_descriptions is not None:
        return False  # its response may have to request a description
    following = next_epoch(member.current, group.target_of(member.member_id), group.target_epoch)
    if following is None:
        return False
    changes = GroupChanges(group)
    if following is not member.current:
        changes.make(StreamsKind.CURRENT, member.member_id, following)
        watch_revocation(group, member, now_ms)
        member.listed = None
    store_offsets(member, request)
    extend_session(group, member, config.session_timeout_ms, now_ms)
    response = _unchanged_answer(group, config, member)

    def written(error: ErrorCode, now_ms: int) -> None:
        answer = response if error is ErrorCode.none else StreamsGroupHeartbeatResponse(error_code=error)
        coordinator.effects.append(Reply(sender.ticket, answer))

    changes.ticket = sender.ticket
    changes.write(now_ms, cause_of(member, "sent_a_heartbeat"), written)
    return True


def _reports_nothing(request: StreamsGroupHeartbeatRequest) -> bool:
    """Return whether a heartbeat has neither tasks nor a topology, and does not request a shutdown."""
    return (
        request.active_tasks is None
        and request.standby_tasks is None
        and request.warmup_tasks is None
        and request.topology is None
        and not request.shutdown_application
    )


def _is_steady(group: StreamsGroup, config: StreamsConfig, member: StreamsMember, sender: Sender) -> bool:
    """Return whether a heartbeat without news has no effect on its group, and its response has no status."""
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
    group: StreamsGroup, config: StreamsConfig, member: StreamsMember
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
