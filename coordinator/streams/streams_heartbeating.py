"""StreamsGroupHeartbeat: a member says what it is and has, and hears which tasks are its own (streams-groups §5)."""

from collections.abc import Callable
from typing import NamedTuple

from kohort.coordinator.context import OnWritten
from kohort.coordinator.coordinator import GroupCoordinator
from kohort.coordinator.effects import Reply
from kohort.coordinator.group import STREAMS
from kohort.coordinator.modern.group_changes import GroupChanges
from kohort.coordinator.modern.group_refusals import Refusal, group_full, unknown_member
from kohort.coordinator.offsets_topic_records import is_storable
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
    StreamsAssignment,
    StreamsEpoch,
    StreamsKind,
    StreamsMetadata,
)
from kohort.coordinator.streams.streams_lookup import find_group, find_left_group, found_or_created
from kohort.coordinator.streams.streams_member import StreamsMember
from kohort.coordinator.streams.streams_owners import Role
from kohort.coordinator.streams.streams_reconciling import reconcile
from kohort.coordinator.streams.streams_replies import answer, gone, refused, shutdown_status
from kohort.coordinator.streams.streams_requests import endpoint_of, names_twice, reported_tasks, tags_of, topology_of
from kohort.coordinator.streams.streams_sessions import cause_of, keep_alive, put_out, watch_revocation
from kohort.coordinator.streams.streams_targets import assignment_configs, delay, update_target
from kohort.coordinator.streams.streams_topologies import (
    Configured,
    Prepared,
    configured,
    stale_status,
    take_topology,
)
from kohort.coordinator.streams.streams_values import Status, StatusCode, TaskSets, TopicInfo
from kohort.coordinator.streams.topology import ConfiguredTopology
from kohort.protocol.errors import ErrorCode
from kohort.protocol.messages.streams_group_heartbeat import (
    StreamsGroupHeartbeatRequest,
    StreamsGroupHeartbeatResponse,
)

MakeTopics = Callable[[tuple[TopicInfo, ...]], str]
"""Has internal topics made, in the name of who sends the heartbeat. Returns what there is to say about it, or ""."""


NOTHING_PREPARED = Prepared()


class Sender(NamedTuple):
    """Whose heartbeat it is, as far as the request does not say."""

    ticket: object
    client_id: str
    client_host: str
    """As Java prints an address: `/127.0.0.1`."""
    make_topics: MakeTopics


class _Beat(NamedTuple):
    """A heartbeat on its way through a group."""

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
    """Keeps a member alive and takes it one step further. None: answered when what it changed is written.

    Refusals, in this order: INVALID_REQUEST, STREAMS_INVALID_TOPOLOGY, NOT_COORDINATOR, COORDINATOR_LOAD_IN_PROGRESS,
    GROUP_ID_NOT_FOUND, GROUP_MAX_SIZE_REACHED, UNKNOWN_MEMBER_ID, FENCED_MEMBER_EPOCH, and again INVALID_REQUEST and
    STREAMS_INVALID_TOPOLOGY. UNKNOWN_SERVER_ERROR for what Kafka does not foresee.
    """
    refusal = check_request(request)
    if refusal is not None:
        return refused(refusal)
    if request.member_epoch < 0:
        return _leave(coordinator, request, sender, now_ms)
    found = _found(coordinator, request, now_ms)
    if isinstance(found, Refusal):
        return refused(found)
    group, changes = found
    refusal = _join_or_go_on(_Beat(group, changes, request, sender, now_ms, prepared))
    if refusal is not None:
        changes.abandon(now_ms)
        if group.is_there:
            who = request.member_id, request.instance_id, request.member_epoch
            coordinator.streams_observer.refused(group, *who, refusal.error, sender.ticket)
        return refused(refusal)
    return None


def _found(
    coordinator: GroupCoordinator, request: StreamsGroupHeartbeatRequest, now_ms: int
) -> tuple[StreamsGroup, GroupChanges] | Refusal:
    """The group, and where to note what the heartbeat changes."""
    if not request.member_epoch:
        return found_or_created(coordinator, request.group_id, now_ms)
    group = find_group(coordinator, request.group_id)
    return group if isinstance(group, Refusal) else (group, GroupChanges(group))


def _join_or_go_on(beat: _Beat) -> Refusal | None:
    """The whole way of a heartbeat through a group. A refusal leaves the caller with changes to take back."""
    group, changes, request, sender, now_ms, _ = beat
    known, was_empty = group.members.get(request.member_id), not group.members
    refusal = _check_member(group, known, request)
    if refusal is not None:
        return refusal
    before = None if known is None else (known.metadata, known.current)
    is_new_epoch = _note_metadata(changes, request, _merged(known, request, sender))
    topology = _look_at_topology(beat)
    if isinstance(topology, Refusal):
        return topology
    _bump_if_due(group, changes, topology, is_due=is_new_epoch)
    if was_empty:
        delay(group, now_ms)
    statuses = _take_further(beat, topology.topology)
    if isinstance(statuses, Refusal):
        return statuses
    cause = "join_new" if known is None else "metadata_changed" if is_new_epoch else "sent_a_heartbeat"
    return _answer(beat, topology.topology, statuses, cause, before)


def _take_further(beat: _Beat, topology: ConfiguredTopology) -> tuple[Status, ...] | Refusal:
    """Brings the target and the member up to date. Returns what there is to say about the group."""
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
    before: tuple[StreamsMetadata, StreamsAssignment] | None,
) -> Refusal | None:
    """Writes what the heartbeat has changed; then the member is answered. `before`: what it was; None: it is new."""
    group, changes, request, sender, now_ms, _ = beat
    member, seen = group.members[request.member_id], request.endpoint_information_epoch
    had = NO_OWNED_TASKS if before is None else before[1].assigned
    tells_tasks = not request.member_epoch or member.current.assigned != had
    if tells_tasks:
        member.listed = None
    try:
        response = answer(group, member, topology, statuses, tells_tasks=tells_tasks, seen_endpoints=seen)
    except NotConfigured:
        return UNFORESEEN
    if (member.metadata, member.current) != before:
        member.listed = None  # not sooner: it hears of its own new endpoint with its next heartbeat, as in Kafka
    if changes.creates:
        _forget_what_was_not_written(changes, group, response)
    changes.ticket = sender.ticket
    changes.write(now_ms, cause_of(member, cause), _replying(group, sender, response, topology.missing_internal))
    return None


def _check_member(
    group: StreamsGroup, known: StreamsMember | None, request: StreamsGroupHeartbeatRequest
) -> Refusal | None:
    """A full group takes nobody with epoch 0, not even a member that comes back, as in Kafka."""
    limit = group.coordinator.settings.group_streams_max_size
    if not request.member_epoch and len(group.members) >= limit:
        return group_full(STREAMS, limit)
    if known is None and request.member_epoch:
        return unknown_member(request.member_id, group.group_id)
    refusal = None if known is None else check_epoch(known, request)
    tags = request.client_tags or ()
    is_foreseen = is_storable(request.member_id) and len({each.key for each in tags}) == len(tags)
    return refusal if refusal is not None or is_foreseen else UNFORESEEN


def _merged(known: StreamsMember | None, request: StreamsGroupHeartbeatRequest, sender: Sender) -> StreamsMetadata:
    """What a member says of itself from now on; what it does not mention stays."""
    before = UNKNOWN if known is None else known.metadata
    tags = tags_of(request)
    timeout_ms = request.rebalance_timeout_ms
    return before._replace(
        rack_id=before.rack_id if request.rack_id is None else request.rack_id,
        client_id=sender.client_id,
        client_host=sender.client_host,
        rebalance_timeout_ms=before.rebalance_timeout_ms if timeout_ms == -1 else timeout_ms,
        topology_epoch=before.topology_epoch if request.topology is None else request.topology.epoch,
        process_id=before.process_id if request.process_id is None else request.process_id,
        user_endpoint=endpoint_of(request) or before.user_endpoint,
        client_tags=before.client_tags if tags is None else tags,
    )


def _note_metadata(changes: GroupChanges, request: StreamsGroupHeartbeatRequest, wanted: StreamsMetadata) -> bool:
    """Takes over what a member says of itself. Returns whether any of it is new: then the group has another epoch."""
    member = changes.group.members.get(request.member_id)
    assert member is None or isinstance(member, StreamsMember), "the group's"
    if member is not None and member.metadata == wanted:
        return False
    changes.make(StreamsKind.MEMBER, request.member_id, wanted)
    return True


def _look_at_topology(beat: _Beat) -> Configured | Refusal:
    """The topology as its topics are now, once the member's own has been compared with it, and the tasks it names."""
    group, changes, request, *_, prepared = beat
    brought = prepared.brought
    if brought is None and request.topology is not None:
        brought = topology_of(request.topology)
    refusal = take_topology(group, changes, brought, prepared)
    if refusal is not None:
        return refusal
    found = configured(group, changes, prepared)
    if isinstance(found, Refusal):
        return found
    refusal = check_tasks(request, found.topology.tasks) if found.topology.ready else None
    return found if refusal is None else refusal


def _bump_if_due(group: StreamsGroup, changes: GroupChanges, topology: Configured, *, is_due: bool) -> None:
    """Gives the group another epoch: for its members, the topics that it needs, its topology, its settings."""
    configs = assignment_configs(group)
    known = group.metadata_hash, group.validated_topology_epoch, group.configs
    wanted = topology.metadata_hash, topology.validated_epoch, configs
    if is_due or wanted != known:
        changes.make(StreamsKind.GROUP_EPOCH, None, StreamsEpoch(group.epoch + 1, *wanted))
        changes.epoch_cause = "" if is_due else "topic_metadata_changed"


def _advance(
    group: StreamsGroup,
    member: StreamsMember,
    changes: GroupChanges,
    request: StreamsGroupHeartbeatRequest,
    now_ms: int,
) -> bool:
    """Takes a member as far as it can go now. Returns False for one that must be fenced."""
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
    )
    if following is None:
        return False
    if following != member.current:
        changes.make(StreamsKind.CURRENT, member.member_id, following)
        watch_revocation(group, member, now_ms)
    return True


def note_shutdown(group: StreamsGroup, member_id: str) -> None:
    """Remembers the first member that wants the whole application to end."""
    if group.shutdown_requested_by is None:
        group.shutdown_requested_by = member_id


def _forget_what_was_not_written(
    changes: GroupChanges, group: StreamsGroup, response: StreamsGroupHeartbeatResponse
) -> None:
    """The join that creates a group leaves no more of it than its records, though it is answered with the rest.

    Kafka makes the group anew of these records. Only one in the place of a classic group tells its endpoints' epoch
    before (seen in 4.3.0).
    """
    group.forget_memory()
    if not changes.replaces:
        response.endpoint_information_epoch = 0


def _replying(
    group: StreamsGroup, sender: Sender, response: StreamsGroupHeartbeatResponse, missing: tuple[TopicInfo, ...]
) -> OnWritten:
    """Answers, and has missing internal topics made."""

    def written(error: ErrorCode, now_ms: int) -> None:
        if error is not ErrorCode.none:
            group.coordinator.effects.append(Reply(sender.ticket, refused(Refusal(error))))
            return
        if missing:
            _tell_about_topics(response, sender.make_topics(missing))
        group.coordinator.effects.append(Reply(sender.ticket, response))

    return written


def _tell_about_topics(response: StreamsGroupHeartbeatResponse, text: str) -> None:
    for status in response.status or ():
        if status.status_code == StatusCode.MISSING_INTERNAL_TOPICS:
            status.status_detail += text


def _leave(
    coordinator: GroupCoordinator, request: StreamsGroupHeartbeatRequest, sender: Sender, now_ms: int
) -> StreamsGroupHeartbeatResponse | None:
    """A wish to shut down counts even if nobody of that name is there, as in Kafka."""
    group = find_left_group(coordinator, request.group_id)
    if isinstance(group, Refusal):
        return refused(group)
    if request.shutdown_application:
        note_shutdown(group, request.member_id)
    member = group.members.get(request.member_id)
    if member is None:
        return refused(unknown_member(request.member_id, group.group_id))
    on_written = _replying(group, sender, gone(member), ())
    put_out(group, member, cause_of(member, "leave_explicit"), now_ms, on_written)
    return None
