"""ConsumerGroupHeartbeat: takes a member's subscription and partitions, returns its assignment (consumer-groups §5)."""

from collections.abc import Mapping
from typing import Any, NamedTuple
from uuid import UUID

from kohort.coordinator.consumer.checks import check_epoch, check_request
from kohort.coordinator.consumer.consumer_group import ConsumerGroup
from kohort.coordinator.consumer.consumer_leaving import cause_of, fence, session_expired, step_out
from kohort.coordinator.consumer.consumer_member import ConsumerMember
from kohort.coordinator.consumer.group_lookup import find_or_create
from kohort.coordinator.consumer.next_epoch import NextEpoch, steady_assignment
from kohort.coordinator.consumer.patterns import find_regex_error
from kohort.coordinator.consumer.progress import advance_member, keep_alive
from kohort.coordinator.consumer.refusing import UNKNOWN_STATE, invalid_regex, not_a_consumer_group
from kohort.coordinator.consumer.request_changes import ChangeSet
from kohort.coordinator.consumer.resolving import SeesTopic, resolve_if_due, sees_all
from kohort.coordinator.consumer.static_members import find_or_replace
from kohort.coordinator.consumer.steady_assignment import SteadyAssignment
from kohort.coordinator.consumer.subscribing import subscribe
from kohort.coordinator.consumer.targets import compute, may_compute
from kohort.coordinator.consumer.values import LEAVING_EPOCH, MemberMetadata, Owned
from kohort.coordinator.context import OnWritten
from kohort.coordinator.coordinator import GroupCoordinator
from kohort.coordinator.effects import Reply
from kohort.coordinator.groups.group import CONSUMER
from kohort.coordinator.modern.group_refusals import Refusal, group_full, group_missing
from kohort.coordinator.modern.instances import find_member
from kohort.coordinator.modern.timers import extend_session
from kohort.protocol.errors import ErrorCode
from kohort.protocol.messages.consumer_group_heartbeat import (
    Assignment,
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    TopicPartitions,
    in_epoch,
)


class Sender(NamedTuple):
    """Details of the sender that are not part of the heartbeat request."""

    ticket: Any
    client_id: str
    client_host: str  # in Java's notation: `/127.0.0.1`
    version: int
    sees_topic: SeesTopic = sees_all  # whether a pattern of the sender may match a topic


def consumer_group_heartbeat(
    coordinator: GroupCoordinator, request: ConsumerGroupHeartbeatRequest, sender: Sender, now_ms: int
) -> ConsumerGroupHeartbeatResponse | None:
    """Extend the session of a member and advance it. Return the response, or None if it follows the write.

    Errors, in this order: UNSUPPORTED_VERSION, INVALID_REQUEST, UNSUPPORTED_ASSIGNOR, NOT_COORDINATOR,
    COORDINATOR_LOAD_IN_PROGRESS, GROUP_ID_NOT_FOUND, GROUP_MAX_SIZE_REACHED, UNKNOWN_MEMBER_ID, UNRELEASED_INSTANCE_ID,
    FENCED_INSTANCE_ID, FENCED_MEMBER_EPOCH, INVALID_REGULAR_EXPRESSION.
    """
    refusal = check_request(coordinator.settings, request, sender.version)
    if refusal is not None:
        return refused(refusal)
    if request.member_epoch < 0:
        return _leave(coordinator, request, sender, now_ms)
    group = coordinator.consumer_group(request.group_id)
    if group is not None:
        member = _with_nothing_new(group, request, sender)
        if member is not None:
            if member.has_reached(group.epoch):
                response = _keep_unchanged(group, member, sender, now_ms)
                return _behind_unwritten(group, member, sender, response, now_ms)
            steady = steady_assignment(group, member)
            if steady is not None:
                _take_next_epoch(group, member, steady, sender, now_ms)
                return None
    return _process(coordinator, request, sender, now_ms)


def nothing_new(
    coordinator: GroupCoordinator, request: ConsumerGroupHeartbeatRequest, sender: Sender, now_ms: int
) -> ConsumerGroupHeartbeatResponse | None:
    """Extend the session of a member without changes in either direction; return None, without effect, otherwise.

    `request` has been validated (`checks.py`), except for its epoch.
    """
    group = coordinator.consumer_group(request.group_id)
    if group is None or request.member_epoch != group.epoch or group.group_id in coordinator.unwritten:
        return None
    member = _with_nothing_new(group, request, sender)
    if member is None or not member.has_reached(group.epoch):
        return None
    return _keep_unchanged(group, member, sender, now_ms)


def refused(refusal: Refusal) -> ConsumerGroupHeartbeatResponse:
    return ConsumerGroupHeartbeatResponse(error_code=refusal.error, error_message=refusal.message)


# Heartbeats without changes. Both paths return the response of `_process` in a fraction of the time: the first one is
# the most frequent of all, and the second one serves nearly all members of a large group after each change.


def _with_nothing_new(
    group: ConsumerGroup, request: ConsumerGroupHeartbeatRequest, sender: Sender
) -> ConsumerMember | None:
    """Return the member if this heartbeat changes nothing and no target is due."""
    member = group.members.get(request.member_id)
    if (
        member is None
        or request.member_epoch != member.current.epoch
        or group.target_epoch != group.epoch
        or request.rebalance_timeout_ms != -1
        or request.subscribed_topic_names is not None
        or request.subscribed_topic_regex is not None
        or request.server_assignor is not None
        or request.rack_id is not None
        or group.checked_version != group.coordinator.topics.version
    ):
        return None
    metadata, instance_id = member.metadata, request.instance_id
    if instance_id is not None and instance_id != metadata.instance_id:
        return None
    same = metadata.client_id == sender.client_id and metadata.client_host == sender.client_host
    return member if same and metadata.classic is None else None


def _keep_unchanged(
    group: ConsumerGroup, member: ConsumerMember, sender: Sender, now_ms: int
) -> ConsumerGroupHeartbeatResponse:
    if member.stats is not None:
        group.coordinator.consumer_observer.heartbeat_received(group, member, now_ms)
    config = group.coordinator.consumer_config(group.group_id)
    extend_session(group, member, config.session_timeout_ms, now_ms, session_expired)
    if group.regex_counts:
        resolve_if_due(group, now_ms, sender.sees_topic, new_regex=False)
    response, epoch, interval_ms = member.unchanged, member.current.epoch, config.heartbeat_interval_ms
    if response is None or response.member_epoch != epoch or response.heartbeat_interval_ms != interval_ms:
        response = _nothing_new_for(member, interval_ms)
    return response


def _behind_unwritten(
    group: ConsumerGroup, member: ConsumerMember, sender: Sender, response: ConsumerGroupHeartbeatResponse, now_ms: int
) -> ConsumerGroupHeartbeatResponse | None:
    """Return the response, or None if it follows the pending writes of the group."""
    if group.group_id not in group.coordinator.unwritten:
        return response
    ChangeSet(group).write(now_ms, cause_of(member, "sent_a_heartbeat"), _replying(group, sender, response))
    return None


def _nothing_new_for(member: ConsumerMember, interval_ms: int) -> ConsumerGroupHeartbeatResponse:
    last_response, epoch = member.unchanged, member.current.epoch
    if last_response is not None and last_response.heartbeat_interval_ms == interval_ms:
        response = member.unchanged = in_epoch(last_response, epoch)
    else:
        response = member.unchanged = ConsumerGroupHeartbeatResponse(
            error_code=ErrorCode.none,
            member_id=member.member_id,
            member_epoch=epoch,
            heartbeat_interval_ms=interval_ms,
        )
    return response


def _take_next_epoch(
    group: ConsumerGroup, member: ConsumerMember, steady: SteadyAssignment, sender: Sender, now_ms: int
) -> None:
    config = group.coordinator.consumer_config(group.group_id)
    changes = NextEpoch(group, member, steady)
    extend_session(group, member, config.session_timeout_ms, now_ms, session_expired)
    if member.stats is not None:
        group.coordinator.consumer_observer.heartbeat_received(group, member, now_ms)
    if group.regex_counts:
        resolve_if_due(group, now_ms, sender.sees_topic, new_regex=False)
    changes.ticket = sender.ticket
    response = _nothing_new_for(member, config.heartbeat_interval_ms)
    changes.write(now_ms, steady.cause, _replying(group, sender, response))


# All other heartbeats


def _process(
    coordinator: GroupCoordinator, request: ConsumerGroupHeartbeatRequest, sender: Sender, now_ms: int
) -> ConsumerGroupHeartbeatResponse | None:
    lookup = find_or_create(coordinator, request, now_ms)
    if isinstance(lookup, Refusal):
        return refused(lookup)
    group, changes = lookup
    refusal = _update_member(group, changes, request, sender, now_ms)
    if refusal is not None:
        changes.abandon(now_ms)
        _report_refusal(coordinator, request, refusal, sender)
        return refused(refusal)
    return None


def _report_refusal(
    coordinator: GroupCoordinator, request: ConsumerGroupHeartbeatRequest, refusal: Refusal, sender: Sender
) -> None:
    group = coordinator.consumer_group(request.group_id)
    if group is not None:
        identity = request.member_id, request.instance_id, request.member_epoch
        coordinator.consumer_observer.refused(group, *identity, refusal.error, sender.ticket)


def _update_member(
    group: ConsumerGroup, changes: ChangeSet, request: ConsumerGroupHeartbeatRequest, sender: Sender, now_ms: int
) -> Refusal | None:
    """Process a heartbeat in its group. After an error the caller must undo the changes."""
    settings = group.coordinator.settings
    limit = settings.group_consumer_max_size
    if len(group.members) >= limit and request.member_id not in group.members:
        is_static = request.instance_id in group.static_members
        if not (is_static and settings.rules.admits_static_members_to_full_groups):
            return group_full(CONSUMER, limit)
    identity = find_or_replace(group, changes, request.member_id, request.member_epoch, request.instance_id)
    if isinstance(identity, Refusal):
        return identity
    reported = _reported(request)
    old_member = group.members.get(identity.member_id)
    refusal = None if old_member is None else check_epoch(old_member, request.member_epoch, reported)
    if refusal is not None:
        return refusal
    metadata = _merged(identity.metadata, request, sender)
    if _is_new_regex(group, metadata):
        reason = find_regex_error(metadata.topic_regex)
        if reason is not None:
            return invalid_regex(metadata.topic_regex, reason)
    subscribed = subscribe(group, changes, identity, metadata, now_ms, sender.sees_topic)
    member = group.members[identity.member_id]
    old_assigned = member.current.assigned
    wall_ms = group.coordinator.wall_ms(now_ms)
    if may_compute(group, wall_ms):
        compute(group, changes, now_ms, homogeneous=subscribed.homogeneous, own_vote=metadata.assignor)
    if not advance_member(group, member, changes, reported, subscribed.changed, now_ms):
        return UNKNOWN_STATE
    keep_alive(group, member, now_ms)
    if old_member is not None and member.stats is not None:
        group.coordinator.consumer_observer.heartbeat_received(group, member, now_ms)
    changes.ticket = sender.ticket
    response = _response(group, member, request, old_assigned)
    cause = "join_new" if old_member is None else "metadata_changed" if subscribed.changed else "sent_a_heartbeat"
    changes.write(now_ms, cause_of(member, cause), _replying(group, sender, response))
    return None


def _merged(old_metadata: MemberMetadata, request: ConsumerGroupHeartbeatRequest, sender: Sender) -> MemberMetadata:
    """Return the metadata with the fields that the request contains."""
    names, regex = request.subscribed_topic_names, request.subscribed_topic_regex
    if names is None and regex is None and _keeps_metadata(old_metadata, request, sender):
        return old_metadata
    return old_metadata._replace(
        instance_id=old_metadata.instance_id if request.instance_id is None else request.instance_id,
        rack_id=old_metadata.rack_id if request.rack_id is None else request.rack_id,
        client_id=sender.client_id,
        client_host=sender.client_host,
        topic_names=old_metadata.topic_names if names is None else tuple(sorted(set(names))),
        topic_regex=old_metadata.topic_regex if regex is None else regex,
        rebalance_timeout_ms=old_metadata.rebalance_timeout_ms
        if request.rebalance_timeout_ms == -1
        else request.rebalance_timeout_ms,
        assignor=old_metadata.assignor if request.server_assignor is None else request.server_assignor,
        classic=None,
    )


def _keeps_metadata(old_metadata: MemberMetadata, request: ConsumerGroupHeartbeatRequest, sender: Sender) -> bool:
    return (
        old_metadata.classic is None
        and (request.instance_id is None or request.instance_id == old_metadata.instance_id)
        and request.rack_id is None
        and request.server_assignor is None
        and request.rebalance_timeout_ms == -1
        and old_metadata.client_id == sender.client_id
        and old_metadata.client_host == sender.client_host
    )


def _is_new_regex(group: ConsumerGroup, metadata: MemberMetadata) -> bool:
    return bool(metadata.topic_regex) and metadata.topic_regex not in group.regex_counts


def _reported(request: ConsumerGroupHeartbeatRequest) -> Mapping[UUID, frozenset[int]] | None:
    """Return the partitions that the member reports, with duplicate topics merged."""
    if request.topic_partitions is None:
        return None
    owned: dict[UUID, frozenset[int]] = {}
    for entry in request.topic_partitions:
        topic_id = entry.topic_id or UUID(int=0)
        owned[topic_id] = owned.get(topic_id, frozenset()).union(entry.partitions)
    return owned


def _response(
    group: ConsumerGroup, member: ConsumerMember, request: ConsumerGroupHeartbeatRequest, old_assigned: Owned
) -> ConsumerGroupHeartbeatResponse:
    """Build the response.

    It contains the assignment when a member joins, sends all fields, or gets a different assignment.
    """
    is_full_request = (
        request.rebalance_timeout_ms != -1
        and (request.subscribed_topic_names is not None or request.subscribed_topic_regex is not None)
        and request.topic_partitions is not None
    )
    assigned = member.current.assigned
    return ConsumerGroupHeartbeatResponse(
        error_code=ErrorCode.none,
        member_id=member.member_id,
        member_epoch=member.current.epoch,
        heartbeat_interval_ms=group.coordinator.consumer_config(group.group_id).heartbeat_interval_ms,
        assignment=_assignment(assigned)
        if request.member_epoch == 0 or is_full_request or assigned != old_assigned
        else None,
    )


def _assignment(assigned: Owned) -> Assignment:
    return Assignment(
        topic_partitions=tuple(
            TopicPartitions(topic_id=topic_id, partitions=tuple(sorted(partitions)))
            for topic_id, partitions in assigned.items()
        )
    )


def _replying(group: ConsumerGroup, sender: Sender, response: ConsumerGroupHeartbeatResponse) -> OnWritten:
    effects = group.coordinator.effects

    def written(error: ErrorCode, now_ms: int) -> None:
        answer = response if error is ErrorCode.none else refused(Refusal(error))
        effects.append(Reply(sender.ticket, answer))

    return written


# Leaving


def _leave(
    coordinator: GroupCoordinator, request: ConsumerGroupHeartbeatRequest, sender: Sender, now_ms: int
) -> ConsumerGroupHeartbeatResponse | None:
    group = coordinator.consumer_group(request.group_id)
    if group is None:
        error = coordinator.availability(request.group_id)
        if error is not ErrorCode.none:
            return refused(Refusal(error))
        has_other_type = request.group_id in coordinator.groups
        return refused(not_a_consumer_group(request.group_id) if has_other_type else group_missing(request.group_id))
    member = find_member(group, request.member_id, request.instance_id)
    if isinstance(member, Refusal):
        _report_refusal(coordinator, request, member, sender)
        return refused(member)
    response = ConsumerGroupHeartbeatResponse(
        error_code=ErrorCode.none, member_id=member.member_id, member_epoch=request.member_epoch
    )
    on_written = _replying(group, sender, response)
    if request.member_epoch == LEAVING_EPOCH:
        fence(group, [member], cause_of(member, "leave_explicit"), now_ms, on_written)
    else:
        step_out(group, member, now_ms, on_written)
    return None
