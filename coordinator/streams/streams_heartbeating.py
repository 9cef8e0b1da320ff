"""StreamsGroupHeartbeat requests: metadata and tasks of members (streams-groups §5)."""

from typing import Any

from kohort.coordinator.classic.classic_group import ClassicGroup
from kohort.coordinator.classic.states import State
from kohort.coordinator.coordinator import GroupCoordinator
from kohort.coordinator.groups.group import STREAMS
from kohort.coordinator.modern.epoch_heartbeat import Heartbeat, Sender
from kohort.coordinator.modern.group_changes import GroupChanges
from kohort.coordinator.modern.group_refusals import Refusal, group_full, not_of_type
from kohort.coordinator.modern.membership import find_or_replace
from kohort.coordinator.modern.modern_group import ModernGroup
from kohort.coordinator.offsets.offsets_topic_records import is_storable
from kohort.coordinator.streams.streams_checks import UNFORESEEN, check_epoch, check_request, check_tasks
from kohort.coordinator.streams.streams_endpoints import NotConfigured
from kohort.coordinator.streams.streams_group import StreamsGroup
from kohort.coordinator.streams.streams_group_values import (
    NO_OWNED_TASKS,
    StreamsAssignment,
    StreamsEpoch,
    StreamsKind,
    StreamsMetadata,
)
from kohort.coordinator.streams.streams_member import StreamsMember
from kohort.coordinator.streams.streams_owners import Role
from kohort.coordinator.streams.streams_reconciling import reconcile
from kohort.coordinator.streams.streams_replies import (
    answer,
    append_status_detail,
    missing_tags_status,
    request_description,
    shutdown_status,
)
from kohort.coordinator.streams.streams_requests import endpoint_of, names_twice, reported_tasks, tags_of, topology_of
from kohort.coordinator.streams.streams_targets import assignment_configs, delay, update_target
from kohort.coordinator.streams.streams_topologies import (
    Configured,
    Prepared,
    configured,
    stale_status,
    take_topology,
)
from kohort.coordinator.streams.streams_values import Status, TaskSets
from kohort.coordinator.streams.topology import ConfiguredTopology
from kohort.coordinator.streams.unchanged_heartbeats import (
    find_unchanged,
    keep_unchanged,
    keeps_metadata,
    store_offsets,
    take_next_epoch,
)
from kohort.protocol.messages.streams_group_heartbeat import (
    StreamsGroupHeartbeatRequest,
    StreamsGroupHeartbeatResponse,
)

NOTHING_PREPARED = Prepared()


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
    group = coordinator.groups.get(request.group_id)
    if isinstance(group, StreamsGroup):
        config = group.config
        member = find_unchanged(group, config, request, sender)
        if member is not None:
            unchanged = keep_unchanged(group, config, member, request, now_ms)
            if unchanged is not None or take_next_epoch(group, config, member, request, sender, now_ms):
                return unchanged
    heartbeat = StreamsHeartbeat(coordinator, request, request.instance_id, sender, now_ms)
    heartbeat.prepared = prepared
    response: StreamsGroupHeartbeatResponse | None = heartbeat.handle()
    return response


def refused(refusal: Refusal) -> StreamsGroupHeartbeatResponse:
    return StreamsGroupHeartbeatResponse(error_code=refusal.error, error_message=refusal.message)


class StreamsHeartbeat(Heartbeat):
    """Heartbeat of a member of a streams group."""

    __slots__ = ("old_current", "old_metadata", "prepared", "statuses", "topology")

    group_type = STREAMS
    owned = "tasks"
    response_class = StreamsGroupHeartbeatResponse

    group: StreamsGroup
    member: StreamsMember
    prepared: Prepared
    old_metadata: StreamsMetadata | None  # None of a new member, like the next one
    old_current: StreamsAssignment | None
    topology: ConfiguredTopology
    statuses: tuple[Status, ...]

    def check_request(self) -> Refusal | None:
        return check_request(self.request, self.coordinator.settings.rules)

    def on_leaving(self) -> None:
        """Note a shutdown request. As in Kafka, it counts even if the member does not exist."""
        if self.request.shutdown_application:
            note_shutdown(self.group, self.member_id)

    def replace_classic(self, classic: ClassicGroup) -> tuple[ModernGroup, GroupChanges] | Refusal:
        """Replace a classic group that is empty or only has offsets."""
        if classic.state is not State.EMPTY:
            return not_of_type(STREAMS, classic.group_id)
        from kohort.coordinator.group_succession import make_streams_group  # for groups that change their protocol

        return make_streams_group(self.coordinator, classic, self.now_ms)

    def find_sender(self) -> Any:
        """Find the member. In Kafka 4.3, a full group rejects epoch 0 even from an existing member."""
        group, request = self.group, self.request
        is_member = self.member_id in group.members
        member = find_or_replace(group, self.changes, self.member_id, request.member_epoch, self.instance_id)
        if isinstance(member, Refusal):
            return member
        may_return = member is not None and self.coordinator.settings.rules.readmits_streams_members
        if not request.member_epoch and len(group.members) >= group.max_size and not may_return:
            return group_full(STREAMS, group.max_size)
        refusal = None if member is None else check_epoch(member, request)
        if refusal is not None:
            return refusal
        tags = request.client_tags or ()
        if not is_storable(self.member_id) or len({tag.key for tag in tags}) < len(tags):
            return UNFORESEEN
        self.old_metadata, self.old_current = (None, None) if member is None else (member.metadata, member.current)
        self.has_changed = member is not None and not is_member  # a static member has returned with another ID
        return member

    def update_member(self) -> Refusal | None:
        group, request = self.group, self.request
        was_empty = not group.members
        has_returned = self.has_changed
        old_metadata = self.old_metadata or group.unknown
        if not request.member_epoch and group.coordinator.settings.rules.raises_endpoint_epoch_at_once:
            old_metadata = old_metadata._replace(
                user_endpoint=None
            )  # since 4.4 a member that joins has the one it sends
        metadata = _merged(old_metadata, request, self.sender)
        self.has_changed = self.is_new or (metadata is not self.old_metadata and metadata != self.old_metadata)
        if self.has_changed:
            self.set_metadata(metadata)
        if has_returned and self.old_metadata is not None:
            self.has_changed = _differs_in_more_than_client(self.old_metadata, metadata)
        store_offsets(self.member, request)
        topology = self._update_topology()
        if isinstance(topology, Refusal):
            return topology
        self._bump_if_due(topology)
        self.topology = topology.topology
        if was_empty:
            delay(group, self.now_ms)
        return None

    def _update_topology(self) -> Configured | Refusal:
        """Return the current topology, after checking the member's own topology and the tasks it reports."""
        group, changes, request, prepared = self.group, self.changes, self.request, self.prepared
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

    def _bump_if_due(self, topology: Configured) -> None:
        group = self.group
        old_inputs = group.metadata_hash, group.validated_topology_epoch, group.configs
        inputs = topology.metadata_hash, topology.validated_epoch, assignment_configs(group.config)
        if self.has_changed or inputs != old_inputs:
            following = StreamsEpoch(group.epoch + 1, *inputs, group.stored_description, group.failed_description)
            self.changes.make(StreamsKind.GROUP_EPOCH, None, following)
            self.changes.epoch_cause = "" if self.has_changed else "topic_metadata_changed"

    def update_target(self) -> Refusal | None:
        group, member = self.group, self.member
        self.statuses = stale_status(group, member.metadata.topology_epoch)
        self.statuses += update_target(group, self.changes, self.topology, self.now_ms)
        return UNFORESEEN if not member.has_reached(group.target_epoch) and names_twice(self.request) else None

    def next_assignment(self) -> StreamsAssignment | None:
        group, member = self.group, self.member
        process_id, owners = member.metadata.process_id, group.owners

        def is_blocked(role: Role, subtopology_id: str, partition: int) -> bool:
            if role is Role.ACTIVE:
                is_taken = owners.is_active(subtopology_id, partition)
                return is_taken or owners.holds(process_id, subtopology_id, partition, Role.STANDBY, Role.WARMUP)
            return owners.holds(process_id, subtopology_id, partition, *Role)

        return reconcile(
            member.current,
            TaskSets() if group.is_delayed else group.target_of(member.member_id),
            group.target_epoch,
            reported=reported_tasks(self.request),
            is_blocked=is_blocked,
            is_active=owners.is_active if group.coordinator.settings.rules.changes_task_roles_at_once else None,
        )

    def respond(self) -> StreamsGroupHeartbeatResponse | Refusal:
        group, member, request = self.group, self.member, self.request
        if request.shutdown_application:
            note_shutdown(group, member.member_id)
        statuses = self.statuses + self.topology.status + shutdown_status(group)
        if member.metadata is not self.old_metadata and member.metadata != self.old_metadata:
            statuses += missing_tags_status(group, member.metadata)
        has_new_tasks = member.current.assigned != (self.old_assigned or NO_OWNED_TASKS)
        with_tasks = not request.member_epoch or has_new_tasks
        if with_tasks or member.metadata is not self.old_metadata:
            self._raise_endpoint_epoch(with_tasks=with_tasks, has_new_tasks=has_new_tasks)
        seen_endpoints = request.endpoint_information_epoch
        try:
            response = answer(
                group, member, self.topology, statuses, with_tasks=with_tasks, seen_endpoints=seen_endpoints
            )
        except NotConfigured:
            return UNFORESEEN
        if member.metadata != self.old_metadata or member.current != self.old_current:
            member.listed = None  # only now: as in Kafka, its next response has its own new endpoint
        if self.changes.creates:
            _drop_unwritten_state(self.changes, group, response)
        return response

    def _raise_endpoint_epoch(self, *, with_tasks: bool, has_new_tasks: bool) -> None:
        """Raise the endpoint epoch if the member has other tasks or another endpoint.

        Before 4.4 each response with tasks raises it. Source: newer-release §5 rule 5; Kafka's `GroupMetadataManager`.
        """
        group, member = self.group, self.member
        old_endpoint = None if self.old_metadata is None else self.old_metadata.user_endpoint
        at_once = group.coordinator.settings.rules.raises_endpoint_epoch_at_once
        has_new_endpoint = at_once and member.metadata.user_endpoint != old_endpoint
        if with_tasks or has_new_endpoint:
            member.listed = None
        new_tasks_count = has_new_tasks if at_once else with_tasks
        if has_new_endpoint or (new_tasks_count and member.metadata.user_endpoint is not None):
            group.endpoint_epoch += 1  # even if the heartbeat fails later

    def complete(self, response: StreamsGroupHeartbeatResponse, now_ms: int) -> None:
        missing = () if self.member is None else self.topology.missing_internal
        if missing:
            append_status_detail(response, self.sender.make_topics(missing))
        if self.sender.can_describe_topology and response.member_epoch >= 0:
            request_description(self.group, response, now_ms)


def _merged(previous: StreamsMetadata, request: StreamsGroupHeartbeatRequest, sender: Sender) -> StreamsMetadata:
    """Return the metadata after the heartbeat. Fields that the request omits keep their values."""
    if request.topology is None and keeps_metadata(previous, request, sender):
        return previous
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


def _differs_in_more_than_client(previous: StreamsMetadata, metadata: StreamsMetadata) -> bool:
    """Return whether a static member that returns differs in more than its client."""
    same_client = previous._replace(
        client_id=metadata.client_id,
        client_host=metadata.client_host,
        rebalance_timeout_ms=metadata.rebalance_timeout_ms,
    )
    return same_client != metadata


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
