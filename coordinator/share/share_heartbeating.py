"""ShareGroupHeartbeat requests: subscriptions and assignments of members (share-groups §3)."""

from typing import Any

from kohort.coordinator.coordinator import GroupCoordinator
from kohort.coordinator.groups.group import SHARE
from kohort.coordinator.modern.epoch_heartbeat import Heartbeat, Sender
from kohort.coordinator.modern.group_refusals import Refusal, group_full, unknown_member
from kohort.coordinator.modern.modern_values import Target
from kohort.coordinator.share.share_checks import check_epoch, check_request
from kohort.coordinator.share.share_group import ShareGroup
from kohort.coordinator.share.share_initializing import Beginning, begin, find_missing, initialize_missing
from kohort.coordinator.share.share_member import ShareMember
from kohort.coordinator.share.share_targets import compute, next_assignment
from kohort.coordinator.share.share_values import ShareAssignment, ShareMetadata
from kohort.protocol.errors import ErrorCode
from kohort.protocol.messages.share_group_heartbeat import (
    Assignment,
    ShareGroupHeartbeatRequest,
    ShareGroupHeartbeatResponse,
    TopicPartitions,
)


def share_group_heartbeat(
    coordinator: GroupCoordinator, request: ShareGroupHeartbeatRequest, sender: Sender, now_ms: int
) -> ShareGroupHeartbeatResponse | None:
    """Handle a heartbeat. Return None if the response is sent after a write.

    Errors, in this order: INVALID_REQUEST, NOT_COORDINATOR, COORDINATOR_LOAD_IN_PROGRESS, GROUP_ID_NOT_FOUND,
    GROUP_MAX_SIZE_REACHED, UNKNOWN_MEMBER_ID, FENCED_MEMBER_EPOCH.
    """
    response: ShareGroupHeartbeatResponse | None = ShareHeartbeat(coordinator, request, None, sender, now_ms).handle()
    return response


def refused(refusal: Refusal) -> ShareGroupHeartbeatResponse:
    return ShareGroupHeartbeatResponse(error_code=refusal.error, error_message=refusal.message)


class ShareHeartbeat(Heartbeat):
    """Heartbeat of a member of a share group. A group never changes its type, even if it is empty."""

    __slots__ = ("beginning",)

    group_type = SHARE
    response_class = ShareGroupHeartbeatResponse

    group: ShareGroup
    member: ShareMember
    beginning: Beginning | None  # partitions whose states must be initialized after the write

    def check_request(self) -> Refusal | None:
        self.beginning = None
        return check_request(self.request)

    def find_sender(self) -> Any:
        group, epoch = self.group, self.request.member_epoch
        member = group.members.get(self.member_id)
        if member is not None:
            return check_epoch(member, epoch) or member
        if len(group.members) >= group.max_size:
            return group_full(SHARE, group.max_size)
        return unknown_member(self.member_id, group.group_id) if epoch else None

    def update_member(self) -> Refusal | None:
        """Merge the metadata. The group gets a new epoch for another subscription, changed topics or ready partitions.

        The last ones count only if the target is up to date.
        """
        group, changes = self.group, self.changes
        old_metadata = group.unknown if self.is_new else self.member.metadata
        metadata = _merged(old_metadata, self.request, self.sender)
        if self.is_new or metadata != old_metadata:
            self.set_metadata(metadata)
        epoch, is_due = group.epoch, group.epoch > group.target_epoch
        if metadata.topic_names != old_metadata.topic_names or not (is_due or group.assigns_all):
            changes.bump()
            group.checked_version = group.coordinator.topics.version
            if metadata.topic_names == old_metadata.topic_names:
                changes.epoch_cause = "partitions_ready"
        else:
            changes.notice_topics()
        self.has_changed = group.epoch != epoch
        return None

    def update_target(self) -> Refusal | None:
        if self.group.is_target_due(self.now_ms):
            compute(self.group, self.changes, self.now_ms)
        return None

    def next_assignment(self) -> ShareAssignment:
        return next_assignment(self.group, self.member, bumped=self.has_changed)

    def respond(self) -> ShareGroupHeartbeatResponse:
        group, current = self.group, self.member.current
        missing = find_missing(group, self.now_ms)
        if missing:
            self.beginning = begin(group, self.changes, missing, self.now_ms)
        request = self.request
        with_assignment = (
            not request.member_epoch
            or request.subscribed_topic_names is not None
            or current.assigned != (self.old_assigned or {})
        )
        return ShareGroupHeartbeatResponse(
            error_code=ErrorCode.none,
            member_id=self.member_id,
            member_epoch=current.epoch,
            heartbeat_interval_ms=group.config.heartbeat_interval_ms,
            assignment=_assignment(current.assigned) if with_assignment else None,
        )

    def on_replied(self, now_ms: int) -> None:
        if self.beginning is not None:
            initialize_missing(self.group, self.beginning, now_ms)


def _merged(previous: ShareMetadata, request: ShareGroupHeartbeatRequest, sender: Sender) -> ShareMetadata:
    """Return the metadata after the heartbeat. Fields that the request omits keep their values."""
    names = request.subscribed_topic_names
    return ShareMetadata(
        rack_id=previous.rack_id if request.rack_id is None else request.rack_id,
        client_id=sender.client_id,
        client_host=sender.client_host,
        topic_names=previous.topic_names if names is None else tuple(sorted(set(names))),
    )


def _assignment(assigned: Target) -> Assignment:
    return Assignment(
        topic_partitions=tuple(
            TopicPartitions(topic_id=topic_id, partitions=tuple(sorted(partitions)))
            for topic_id, partitions in assigned.items()
        )
    )
