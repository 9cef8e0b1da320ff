"""StreamsGroupHeartbeat requests: metadata and tasks of members (streams-groups §5)."""

from collections.abc import Callable
from typing import NamedTuple

from kohort.coordinator.context import OnWritten
from kohort.coordinator.coordinator import GroupCoordinator
from kohort.coordinator.effects import Reply
from kohort.coordinator.groups.group import STREAMS
from kohort.coordinator.modern.group_changes import GroupChanges
from kohort.coordinator.modern.group_refusals import Refusal, group_full
from kohort.coordinator.modern.instances import find_member
from kohort.coordinator.offsets.offsets_topic_records import is_storable
from kohort.coordinator.streams.streams_checks import (
    FENCED_AS_UNKNOWN,
    UNFORESEEN,
    check_epoch,
    check_request,
    check_tasks,
)
from kohort.coordinator.streams.streams_endpoints import NotConfigured
from kohort.coordinator.streams.streams_group import UNKNOWN, StreamsGroup
from kohort.coordinator.streams.streams_group_values import (
    NO_OWNED_TASKS,
    STATIC_LEAVING_EPOCH,
    StreamsAssignment,
    StreamsEpoch,
    StreamsKind,
    StreamsMetadata,
)
from kohort.coordinator.streams.streams_lookup import find_group, find_left_group, find_or_create
from kohort.coordinator.streams.streams_member import StreamsMember
from kohort.coordinator.streams.streams_owners import Role
from kohort.coordinator.streams.streams_reconciling import reconcile
from kohort.coordinator.streams.streams_replies import (
    answer,
    append_status_detail,
    leave_response,
    missing_tags_status,
    refused,
    request_description,
    shutdown_status,
)
from kohort.coordinator.streams.streams_requests import endpoint_of, names_twice, reported_tasks, tags_of, topology_of
from kohort.coordinator.streams.streams_sessions import cause_of, keep_alive, remove_member, watch_revocation
from kohort.coordinator.streams.streams_static_members import (
    differs_in_more_than_client,
    find_or_take_over,
    leave_temporarily,
)
from kohort.coordinator.streams.streams_targets import assignment_configs, delay, update_target
from kohort.coordinator.streams.streams_topologies import (
    Configured,
    Prepared,
    configured,
    stale_status,
    take_topology,
)
from kohort.coordinator.streams.streams_values import Status, TaskSets, TopicInfo
from kohort.coordinator.streams.topology import ConfiguredTopology
from kohort.protocol.errors import ErrorCode
from kohort.protocol.messages.streams_group_heartbeat import (
    StreamsGroupHeartbeatRequest,
    StreamsGroupHeartbeatResponse,
)

# function that creates internal topics on behalf of the sender, and returns a text for the status or ""
MakeTopics = Callable[[tuple[TopicInfo, ...]], str]


NOTHING_PREPARED = Prepared()


class Sender(NamedTuple):
    """Details of the sender that are not part of the heartbeat request."""

    ticket: object
    client_id: str
    client_host: str  # in Java's format, as in `/127.0.0.1`
    make_topics: MakeTopics
    can_describe_topology: bool = False  # whether the response can request a description of the topology (KIP-1331)


class _Beat(NamedTuple):
    """Heartbeat that is being processed."""

    group: StreamsGroup
    changes: GroupChanges
    request: StreamsGroupHeartbeatRequest
    sender: Sender
    now_ms: int
    prepared: Prepared


def streams_group_heartbeat(
    coordinator: GroupCoordinator,
    request: StreamsGroupHeartbeatRequest,
    sender: Sender,
    now_ms: int,
    prepared: Prepared = NOTHING_PREPARED,
) -> StreamsGroupHeartbeatResponse | None:
    """Handle a heartbeat. Return None if the response is sent after a write.

    Errors, in this order: INVALID_REQUEST, STREAMS_INVALID_TOPOLOGY, NOT_COORDINATOR, COORDINATOR_LOAD_IN_PROGRESS,
    GROUP_ID_NOT_FOUND, GROUP_MAX_SIZE_REACHED, UNKNOWN_MEMBER_ID, FENCED_MEMBER_EPOCH, and again INVALID_REQUEST and
    STREAMS_INVALID_TOPOLOGY. UNKNOWN_SERVER_ERROR for requests that Kafka does not expect.
    """
    refusal = check_request(request, coordinator.settings.rules)
    if refusal is not None:
        return refused(refusal)
    if request.member_epoch < 0:
        return _leave(coordinator, request, sender, now_ms)
    group_and_changes = _find_or_create(coordinator, request, now_ms)
    if isinstance(group_and_changes, Refusal):
        return refused(group_and_changes)
    group, changes = group_and_changes
    refusal = _join_or_keep(_Beat(group, changes, request, sender, now_ms, prepared))
    if refusal is not None:
        changes.abandon(now_ms)
        if group.is_there:
            identity = request.member_id, request.instance_id, request.member_epoch
            coordinator.streams_observer.refused(group, *identity, refusal.error, sender.ticket)
        return refused(refusal)
    return None


def _find_or_create(
    coordinator: GroupCoordinator, request: StreamsGroupHeartbeatRequest, now_ms: int
) -> tuple[StreamsGroup, GroupChanges] | Refusal:
    if not request.member_epoch:
        return find_or_create(coordinator, request.group_id, now_ms)
    group = find_group(coordinator, request.group_id)
    return group if isinstance(group, Refusal) else (group, GroupChanges(group))


def _join_or_keep(beat: _Beat) -> Refusal | None:
    """Process a heartbeat in its group. If it returns a refusal, the caller must undo the changes."""
    group, changes, request, sender, now_ms, _ = beat
    was_empty, is_member = not group.members, request.member_id in group.members
    previous_member = find_or_take_over(group, changes, request)
    if isinstance(previous_member, Refusal):
        return previous_member
    refusal = _check_member(group, previous_member, request)
    if refusal is not None:
        return refusal
    previous_values = None if previous_member is None else (previous_member.metadata, previous_member.current)
    has_returned = previous_member is not None and not is_member
    metadata = _merged(previous_member, request, sender)
    is_new_epoch = _note_metadata(changes, request, metadata)
    if has_returned and previous_values is not None:
        is_new_epoch = differs_in_more_than_client(previous_values[0], metadata)
    _store_offsets(group, request)
    topology = _update_topology(beat)
    if isinstance(topology, Refusal):
        return topology
    _bump_if_due(group, changes, topology, is_due=is_new_epoch)
    if was_empty:
        delay(group, now_ms)
    statuses = _update_member(beat, topology.topology)
    if isinstance(statuses, Refusal):
        return statuses
    if previous_values is None or previous_values[0] != metadata:
        statuses += missing_tags_status(group, metadata)
    cause = "join_new" if previous_member is None else "metadata_changed" if is_new_epoch else "sent_a_heartbeat"
    return _answer(beat, topology.topology, statuses, cause, previous_values)


def _update_member(beat: _Beat, topology: ConfiguredTopology) -> tuple[Status, ...] | Refusal:
    group, changes, request, _, now_ms, _ = beat
    member = group.members[request.member_id]
    statuses = stale_status(group, member.metadata.topology_epoch) + update_target(group, changes, topology, now_ms)
    if not member.has_reached(group.target_epoch) and names_twice(request):
        return UNFORESEEN
    if not _advance(group, member, changes, request, now_ms):
        return FENCED_AS_UNKNOWN
    keep_alive(group, member, now_ms)
    if request.shutdown_application:
        note_shutdown(group, member.member_id)
    return statuses + topology.status + shutdown_status(group)


def _answer(
    beat: _Beat,
    topology: ConfiguredTopology,
    statuses: tuple[Status, ...],
    cause: str,
    previous_values: tuple[StreamsMetadata, StreamsAssignment] | None,
) -> Refusal | None:
    group, changes, request, sender, now_ms, _ = beat
    member, known_endpoint_epoch = group.members[request.member_id], request.endpoint_information_epoch
    previously_assigned = NO_OWNED_TASKS if previous_values is None else previous_values[1].assigned
    with_tasks = not request.member_epoch or member.current.assigned != previously_assigned
    previous_endpoint = None if previous_values is None else previous_values[0].user_endpoint
    has_new_endpoint = member.metadata.user_endpoint != previous_endpoint
    has_new_entry = with_tasks or (has_new_endpoint and group.coordinator.settings.rules.raises_endpoint_epoch_at_once)
    if has_new_entry:
        member.listed = None
        if member.metadata.user_endpoint is not None:
            group.endpoint_epoch += 1  # even if the heartbeat fails later
    try:
        response = answer(group, member, topology, statuses, with_tasks=with_tasks, seen_endpoints=known_endpoint_epoch)
    except NotConfigured:
        return UNFORESEEN
    if (member.metadata, member.current) != previous_values:
        member.listed = None  # only now: as in Kafka, its next response has its own new endpoint
    if changes.creates:
        _drop_unwritten_state(changes, group, response)
    changes.ticket = sender.ticket
    changes.write(now_ms, cause_of(member, cause), _replying(group, sender, response, topology.missing_internal))
    return None


def _store_offsets(group: StreamsGroup, request: StreamsGroupHeartbeatRequest) -> None:
    member = group.members[request.member_id]
    if request.task_offsets is not None:
        member.task_offsets = request.task_offsets
    if request.task_end_offsets is not None:
        member.task_end_offsets = request.task_end_offsets


def _check_member(
    group: StreamsGroup, member: StreamsMember | None, request: StreamsGroupHeartbeatRequest
) -> Refusal | None:
    """Check the member. In Kafka 4.3, a full group rejects epoch 0 even from an existing member."""
    limit = group.coordinator.settings.group_streams_max_size
    may_return = member is not None and group.coordinator.settings.rules.readmits_streams_members
    if not request.member_epoch and len(group.members) >= limit and not may_return:
        return group_full(STREAMS, limit)
    refusal = None if member is None else check_epoch(member, request)
    tags = request.client_tags or ()
    is_foreseen = is_storable(request.member_id) and len({tag.key for tag in tags}) == len(tags)
    return refusal if refusal is not None or is_foreseen else UNFORESEEN


def _merged(member: StreamsMember | None, request: StreamsGroupHeartbeatRequest, sender: Sender) -> StreamsMetadata:
    """Return the metadata after the heartbeat. Fields that the request omits keep their values."""
    previous = UNKNOWN if member is None else member.metadata
    tags = tags_of(request)
    timeout_ms = request.rebalance_timeout_ms
    return previous._replace(
        instance_id=previous.instance_id if request.instance_id is None else request.instance_id,
        rack_id=previous.rack_id if request.rack_id is None else request.rack_id,
        client_id=sender.client_id,
        client_host=sender.client_host,
        rebalance_timeout_ms=previous.rebalance_timeout_ms if timeout_ms == -1 else timeout_ms,
        topology_epoch=previous.topology_epoch if request.topology is None else request.topology.epoch,
        process_id=previous.process_id if request.process_id is None else request.process_id,
        user_endpoint=endpoint_of(request) or previous.user_endpoint,
        client_tags=previous.client_tags if tags is None else tags,
    )


def _note_metadata(changes: GroupChanges, request: StreamsGroupHeartbeatRequest, metadata: StreamsMetadata) -> bool:
    """Update the metadata of a member. Return whether it changed, which requires a new epoch."""
    member = changes.group.members.get(request.member_id)
    assert member is None or isinstance(member, StreamsMember), "the group's"
    if member is not None and member.metadata == metadata:
        return False
    changes.make(StreamsKind.MEMBER, request.member_id, metadata)
    return True


def _update_topology(beat: _Beat) -> Configured | Refusal:
    """Return the current topology, after checking the member's own topology and the tasks it reports."""
    group, changes, request, *_, prepared = beat
    member_topology = prepared.member_topology
    if member_topology is None and request.topology is not None:
        member_topology = topology_of(request.topology)
    refusal = take_topology(group, changes, member_topology, prepared)
    if refusal is not None:
        return refusal
    current_topology = configured(group, changes, prepared)
    if isinstance(current_topology, Refusal):
        return current_topology
    refusal = check_tasks(request, current_topology.topology.tasks) if current_topology.topology.ready else None
    return current_topology if refusal is None else refusal


def _bump_if_due(group: StreamsGroup, changes: GroupChanges, topology: Configured, *, is_due: bool) -> None:
    configs = assignment_configs(group)
    previous_inputs = group.metadata_hash, group.validated_topology_epoch, group.configs
    inputs = topology.metadata_hash, topology.validated_epoch, configs
    if is_due or inputs != previous_inputs:
        following = StreamsEpoch(group.epoch + 1, *inputs, group.stored_description, group.failed_description)
        changes.make(StreamsKind.GROUP_EPOCH, None, following)
        changes.epoch_cause = "" if is_due else "topic_metadata_changed"


def _advance(
    group: StreamsGroup,
    member: StreamsMember,
    changes: GroupChanges,
    request: StreamsGroupHeartbeatRequest,
    now_ms: int,
) -> bool:
    """Move a member towards its target. Return False if it must be fenced."""
    process_id, owners = member.metadata.process_id, group.owners

    def is_blocked(role: Role, subtopology_id: str, partition: int) -> bool:
        if role is Role.ACTIVE:
            is_taken = owners.is_active(subtopology_id, partition)
            return is_taken or owners.holds(process_id, subtopology_id, partition, Role.STANDBY, Role.WARMUP)
        return owners.holds(process_id, subtopology_id, partition, *Role)

    following = reconcile(
        member.current,
        TaskSets() if group.is_delayed else group.target_of(member.member_id),
        group.target_epoch,
        reported=reported_tasks(request),
        is_blocked=is_blocked,
        is_active=owners.is_active if group.coordinator.settings.rules.changes_task_roles_at_once else None,
    )
    if following is None:
        return False
    if following != member.current:
        changes.make(StreamsKind.CURRENT, member.member_id, following)
        watch_revocation(group, member, now_ms)
    return True


def note_shutdown(group: StreamsGroup, member_id: str) -> None:
    if group.shutdown_requested_by is None:
        group.shutdown_requested_by = member_id


def _drop_unwritten_state(changes: GroupChanges, group: StreamsGroup, response: StreamsGroupHeartbeatResponse) -> None:
    """Drop the in-memory state of a group that this heartbeat creates, although the response includes it.

    Kafka rebuilds the group from the records. Only if it replaces a classic group does the response have the endpoint
    epoch (seen in 4.3.0).
    """
    group.forget_memory()
    if not changes.replaces:
        response.endpoint_information_epoch = 0


def _replying(
    group: StreamsGroup, sender: Sender, response: StreamsGroupHeartbeatResponse, missing: tuple[TopicInfo, ...]
) -> OnWritten:
    def written(error: ErrorCode, now_ms: int) -> None:
        if error is not ErrorCode.none:
            group.coordinator.effects.append(Reply(sender.ticket, refused(Refusal(error))))
            return
        if missing:
            append_status_detail(response, sender.make_topics(missing))
        if sender.can_describe_topology and response.member_epoch >= 0:
            request_description(group, response, now_ms)
        group.coordinator.effects.append(Reply(sender.ticket, response))

    return written


def _leave(
    coordinator: GroupCoordinator, request: StreamsGroupHeartbeatRequest, sender: Sender, now_ms: int
) -> StreamsGroupHeartbeatResponse | None:
    """Remove the member, or let a static member leave temporarily.

    As in Kafka, a shutdown request counts even if the member does not exist.
    """
    group = find_left_group(coordinator, request.group_id)
    if isinstance(group, Refusal):
        return refused(group)
    if request.shutdown_application:
        note_shutdown(group, request.member_id)
    member = find_member(group, request.member_id, request.instance_id)
    if isinstance(member, Refusal):
        return refused(member)
    on_written = _replying(group, sender, leave_response(member, request.member_epoch), ())
    if request.member_epoch == STATIC_LEAVING_EPOCH:
        leave_temporarily(group, member, now_ms, on_written)
        return None
    remove_member(group, member, cause_of(member, "leave_explicit"), now_ms, on_written)
    return None
