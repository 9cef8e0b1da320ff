"""ShareGroupHeartbeat: a member says what it wants, and hears what to fetch from (share-groups §3)."""

from typing import NamedTuple

from kohort.coordinator.context import OnWritten
from kohort.coordinator.coordinator import GroupCoordinator
from kohort.coordinator.effects import Reply
from kohort.coordinator.group import SHARE
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
from kohort.coordinator.share.share_sessions import cause_of, keep_alive, put_out
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
    """Whose heartbeat it is, as far as the request does not say."""

    ticket: object
    client_id: str
    client_host: str
    """As Java prints an address: `/127.0.0.1`."""


def share_group_heartbeat(
    coordinator: GroupCoordinator, request: ShareGroupHeartbeatRequest, sender: Sender, now_ms: int
) -> ShareGroupHeartbeatResponse | None:
    """Keeps a member alive and tells it its share. None: answered when what it changed is written.

    Refusals, in this order: INVALID_REQUEST, NOT_COORDINATOR, COORDINATOR_LOAD_IN_PROGRESS, GROUP_ID_NOT_FOUND,
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
        _create(coordinator, group, changes)
    refusal = _join_or_go_on(group, changes, request, sender, now_ms)
    if refusal is not None:
        changes.abandon(now_ms)
        if group.is_there:
            who = request.member_id, None, request.member_epoch
            coordinator.share_observer.refused(group, *who, refusal.error, sender.ticket)
        return refused(refusal)
    return None


def refused(refusal: Refusal) -> ShareGroupHeartbeatResponse:
    """The answer to a member that is refused."""
    return ShareGroupHeartbeatResponse(error_code=refusal.error, error_message=refusal.message)


def _find_group(coordinator: GroupCoordinator, request: ShareGroupHeartbeatRequest) -> ShareGroup | Refusal:
    """The group, or one that nobody knows yet for who joins. Groups do not change their kind, not even empty ones."""
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


def _create(coordinator: GroupCoordinator, group: ShareGroup, changes: GroupChanges) -> None:
    group.appear()
    changes.creates = True
    changes.on_undo(lambda now_ms: coordinator.remove(group))


def _join_or_go_on(
    group: ShareGroup, changes: GroupChanges, request: ShareGroupHeartbeatRequest, sender: Sender, now_ms: int
) -> Refusal | None:
    """The whole way of a heartbeat through a group. A refusal leaves the caller with changes to take back."""
    member_id, epoch = request.member_id, request.member_epoch
    known = group.members.get(member_id)
    refusal = _check_member(group, known, request)
    if refusal is not None:
        return refusal
    had = known.current.assigned if known is not None else {}
    bumped = _subscribe(group, changes, known, _merged(known, request, sender), member_id)
    member = group.members[member_id]
    if may_compute(group, group.coordinator.wall_ms(now_ms)):
        compute(group, changes, now_ms)
    advance_member(group, member, changes, bumped=bumped)
    keep_alive(group, member, now_ms)
    missing = find_missing(group, now_ms)
    if missing:
        begin(group, changes, missing, now_ms)
    changes.ticket = sender.ticket
    tells_all = epoch == 0 or request.subscribed_topic_names is not None or member.current.assigned != had
    response = _response(group, member, tells_all=tells_all)
    cause = "join_new" if known is None else "metadata_changed" if bumped else "sent_a_heartbeat"
    changes.write(now_ms, cause_of(member, cause), _replying(group, sender, response, missing))
    return None


def _check_member(group: ShareGroup, known: ShareMember | None, request: ShareGroupHeartbeatRequest) -> Refusal | None:
    limit = group.coordinator.settings.group_share_max_size
    if known is None:
        if len(group.members) >= limit:
            return group_full(SHARE, limit)
        return unknown_member(request.member_id, group.group_id) if request.member_epoch else None
    return check_epoch(known, request.member_epoch)


def _merged(known: ShareMember | None, request: ShareGroupHeartbeatRequest, sender: Sender) -> ShareMetadata:
    """What a member says of itself from now on; what it does not mention stays."""
    before = UNKNOWN if known is None else known.metadata
    names = request.subscribed_topic_names
    return ShareMetadata(
        rack_id=before.rack_id if request.rack_id is None else request.rack_id,
        client_id=sender.client_id,
        client_host=sender.client_host,
        topic_names=before.topic_names if names is None else tuple(sorted(set(names))),
    )


def _subscribe(
    group: ShareGroup, changes: GroupChanges, known: ShareMember | None, wanted: ShareMetadata, member_id: str
) -> bool:
    """Takes over what a member says of itself. Returns whether that gave the group another epoch.

    Other names do, as do topics that have come, gone or grown; and partitions that have become ready, unless a target
    is due anyway.
    """
    before = UNKNOWN if known is None else known.metadata
    if known is None or wanted != before:
        changes.make(ShareKind.MEMBER, member_id, wanted)
    epoch, is_due = group.epoch, group.epoch > group.target_epoch
    if wanted.topic_names != before.topic_names or not (is_due or group.assigns_all):
        bump(group, changes)
        group.checked_version = group.coordinator.topics.version
        if wanted.topic_names == before.topic_names:
            changes.epoch_cause = "partitions_ready"
    else:
        notice_topics(group, changes)
    return group.epoch != epoch


def _response(group: ShareGroup, member: ShareMember, *, tells_all: bool) -> ShareGroupHeartbeatResponse:
    """The answer has the assignment for who joins, for who says everything, and when it has changed."""
    return ShareGroupHeartbeatResponse(
        error_code=ErrorCode.none,
        member_id=member.member_id,
        member_epoch=member.current.epoch,
        heartbeat_interval_ms=group.coordinator.share_config(group.group_id).heartbeat_interval_ms,
        assignment=_assignment(member.current.assigned) if tells_all else None,
    )


def _assignment(assigned: Target) -> Assignment:
    return Assignment(
        topic_partitions=tuple(
            TopicPartitions(topic_id=topic_id, partitions=tuple(sorted(partitions)))
            for topic_id, partitions in assigned.items()
        )
    )


def _replying(group: ShareGroup, sender: Sender, response: ShareGroupHeartbeatResponse, missing: Missing) -> OnWritten:
    """Return a callback that answers, and only then begins to make partitions ready."""
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
    put_out(group, [member], cause_of(member, "leave_explicit"), now_ms, _replying(group, sender, response, {}))
    return None
