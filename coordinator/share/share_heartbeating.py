"""ShareGroupHeartbeat requests: subscriptions and assignments of members (share-groups §3)."""

from typing import NamedTuple

from kohort.coordinator.context import OnWritten
from kohort.coordinator.coordinator import GroupCoordinator
from kohort.coordinator.effects import Reply
from kohort.coordinator.groups.group import SHARE
from kohort.coordinator.modern.group_changes import GroupChanges
from kohort.coordinator.modern.group_epochs import bump, notice_topics
from kohort.coordinator.modern.group_refusals import (
    Refusal,
    group_full,
    group_missing,
    kind_missing,
    not_of_kind,
    unknown_member,
)
from kohort.coordinator.modern.modern_values import Target
from kohort.coordinator.share.share_checks import check_epoch, check_request
from kohort.coordinator.share.share_group import UNKNOWN, ShareGroup
from kohort.coordinator.share.share_initializing import Missing, begin, find_missing, initialize_missing
from kohort.coordinator.share.share_member import ShareMember
from kohort.coordinator.share.share_sessions import cause_of, keep_alive, remove_members
from kohort.coordinator.share.share_targets import advance_member, compute, may_compute
from kohort.coordinator.share.share_values import LEAVING_EPOCH, ShareKind, ShareMetadata
from kohort.protocol.errors import ErrorCode
from kohort.protocol.messages.share_group_heartbeat import (
    Assignment,
    ShareGroupHeartbeatRequest,
    ShareGroupHeartbeatResponse,
    TopicPartitions,
)


class Sender(NamedTuple):
    """Details of the sender that are not part of the heartbeat request."""

    ticket: object
    client_id: str
    client_host: str  # in Java's format, as in `/127.0.0.1`


def share_group_heartbeat(
    coordinator: GroupCoordinator, request: ShareGroupHeartbeatRequest, sender: Sender, now_ms: int
) -> ShareGroupHeartbeatResponse | None:
    """Handle a heartbeat. Return None if the response is sent after a write.

    Errors, in this order: INVALID_REQUEST, NOT_COORDINATOR, COORDINATOR_LOAD_IN_PROGRESS, GROUP_ID_NOT_FOUND,
    GROUP_MAX_SIZE_REACHED, UNKNOWN_MEMBER_ID, FENCED_MEMBER_EPOCH.
    """
    refusal = check_request(request)
    if refusal is not None:
        return refused(refusal)
    group = _find_group(coordinator, request)
    if isinstance(group, Refusal):
        return refused(group)
    if request.member_epoch == LEAVING_EPOCH:
        return _leave(group, request, sender, now_ms)
    changes = GroupChanges(group)
    if not group.is_there:
        changes.create()
    refusal = _join_or_keep(group, changes, request, sender, now_ms)
    if refusal is not None:
        changes.abandon(now_ms)
        if group.is_there:
            identity = request.member_id, None, request.member_epoch
            coordinator.share_observer.refused(group, *identity, refusal.error, sender.ticket)
        return refused(refusal)
    return None


def refused(refusal: Refusal) -> ShareGroupHeartbeatResponse:
    return ShareGroupHeartbeatResponse(error_code=refusal.error, error_message=refusal.message)


def _find_group(coordinator: GroupCoordinator, request: ShareGroupHeartbeatRequest) -> ShareGroup | Refusal:
    """Return the group, or a new one if a member joins. A group never changes its type, even if it is empty."""
    group_id, epoch = request.group_id, request.member_epoch
    group = coordinator.share_group(group_id)
    if group is not None:
        return group
    if group_id in coordinator.groups:
        return not_of_kind(SHARE, group_id)
    error = coordinator.availability(group_id) if epoch else coordinator.creatable(group_id)
    if error is not ErrorCode.none:
        return Refusal(error)
    if epoch:
        return group_missing(group_id) if epoch == LEAVING_EPOCH else kind_missing(SHARE, group_id)
    return coordinator.new_share_group(group_id)


def _join_or_keep(
    group: ShareGroup, changes: GroupChanges, request: ShareGroupHeartbeatRequest, sender: Sender, now_ms: int
) -> Refusal | None:
    """Process a heartbeat in its group. If it returns a refusal, the caller must undo the changes."""
    member_id, epoch = request.member_id, request.member_epoch
    previous_member = group.members.get(member_id)
    refusal = _check_member(group, previous_member, request)
    if refusal is not None:
        return refusal
    previously_assigned = previous_member.current.assigned if previous_member is not None else {}
    bumped = _subscribe(group, changes, previous_member, _merged(previous_member, request, sender), member_id)
    member = group.members[member_id]
    if may_compute(group, group.coordinator.wall_ms(now_ms)):
        compute(group, changes, now_ms)
    advance_member(group, member, changes, bumped=bumped)
    keep_alive(group, member, now_ms)
    missing = find_missing(group, now_ms)
    if missing:
        begin(group, changes, missing, now_ms)
    changes.ticket = sender.ticket
    with_assignment = (
        epoch == 0 or request.subscribed_topic_names is not None or member.current.assigned != previously_assigned
    )
    response = _response(group, member, with_assignment=with_assignment)
    cause = "join_new" if previous_member is None else "metadata_changed" if bumped else "sent_a_heartbeat"
    changes.write(now_ms, cause_of(member, cause), _replying(group, sender, response, missing))
    return None


def _check_member(group: ShareGroup, member: ShareMember | None, request: ShareGroupHeartbeatRequest) -> Refusal | None:
    limit = group.coordinator.settings.group_share_max_size
    if member is None:
        if len(group.members) >= limit:
            return group_full(SHARE, limit)
        return unknown_member(request.member_id, group.group_id) if request.member_epoch else None
    return check_epoch(member, request.member_epoch)


def _merged(member: ShareMember | None, request: ShareGroupHeartbeatRequest, sender: Sender) -> ShareMetadata:
    """Return the metadata after the heartbeat. Fields that the request omits keep their values."""
    previous = UNKNOWN if member is None else member.metadata
    names = request.subscribed_topic_names
    return ShareMetadata(
        rack_id=previous.rack_id if request.rack_id is None else request.rack_id,
        client_id=sender.client_id,
        client_host=sender.client_host,
        topic_names=previous.topic_names if names is None else tuple(sorted(set(names))),
    )


def _subscribe(
    group: ShareGroup, changes: GroupChanges, member: ShareMember | None, metadata: ShareMetadata, member_id: str
) -> bool:
    """Apply the metadata of a heartbeat. Return whether it gave the group a new epoch.

    Causes are another subscription, topics that were created, deleted or extended, and partitions that have become
    ready. The last ones count only if the target is up to date.
    """
    previous = UNKNOWN if member is None else member.metadata
    if member is None or metadata != previous:
        changes.make(ShareKind.MEMBER, member_id, metadata)
    epoch, is_due = group.epoch, group.epoch > group.target_epoch
    if metadata.topic_names != previous.topic_names or not (is_due or group.assigns_all):
        bump(group, changes)
        group.checked_version = group.coordinator.topics.version
        if metadata.topic_names == previous.topic_names:
            changes.epoch_cause = "partitions_ready"
    else:
        notice_topics(group, changes)
    return group.epoch != epoch


def _response(group: ShareGroup, member: ShareMember, *, with_assignment: bool) -> ShareGroupHeartbeatResponse:
    return ShareGroupHeartbeatResponse(
        error_code=ErrorCode.none,
        member_id=member.member_id,
        member_epoch=member.current.epoch,
        heartbeat_interval_ms=group.coordinator.share_config(group.group_id).heartbeat_interval_ms,
        assignment=_assignment(member.current.assigned) if with_assignment else None,
    )


def _assignment(assigned: Target) -> Assignment:
    return Assignment(
        topic_partitions=tuple(
            TopicPartitions(topic_id=topic_id, partitions=tuple(sorted(partitions)))
            for topic_id, partitions in assigned.items()
        )
    )


def _replying(group: ShareGroup, sender: Sender, response: ShareGroupHeartbeatResponse, missing: Missing) -> OnWritten:
    state_epoch = group.epoch

    def written(error: ErrorCode, now_ms: int) -> None:
        answer = response if error is ErrorCode.none else refused(Refusal(error))
        group.coordinator.effects.append(Reply(sender.ticket, answer))
        if error is ErrorCode.none and missing:
            initialize_missing(group, missing, state_epoch, now_ms)

    return written


def _leave(
    group: ShareGroup, request: ShareGroupHeartbeatRequest, sender: Sender, now_ms: int
) -> ShareGroupHeartbeatResponse | None:
    member = group.members.get(request.member_id)
    if member is None:
        return refused(unknown_member(request.member_id, group.group_id))
    response = ShareGroupHeartbeatResponse(
        error_code=ErrorCode.none, member_id=member.member_id, member_epoch=LEAVING_EPOCH
    )
    remove_members(group, [member], cause_of(member, "leave_explicit"), now_ms, _replying(group, sender, response, {}))
    return None
