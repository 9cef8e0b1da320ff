"""Checks of ShareGroupHeartbeat requests, in Kafka's order (share-groups §3.2)."""

from kohort.coordinator.groups.group import SHARE
from kohort.coordinator.modern.group_refusals import (
    EPOCH_INVALID,
    GROUP_ID_EMPTY,
    MEMBER_ID_EMPTY,
    RACK_ID_EMPTY,
    Refusal,
    fenced_epoch,
)
from kohort.coordinator.modern.modern_values import LEAVING_EPOCH
from kohort.coordinator.share.share_member import ShareMember
from kohort.protocol.errors import ErrorCode
from kohort.protocol.messages.share_group_heartbeat import ShareGroupHeartbeatRequest

MAX_MEMBER_ID_LENGTH = 36  # characters, the length of a UUID

NO_SUBSCRIPTION = Refusal(ErrorCode.invalid_request, "SubscribedTopicNames must be set in first request.")


def is_member_id(text: str | None) -> bool:
    """Return whether text can be a share group's member id. Kafka rejects others without an error message."""
    return bool(text) and len(text or "") <= MAX_MEMBER_ID_LENGTH


def check_request(request: ShareGroupHeartbeatRequest) -> Refusal | None:
    """Check what does not depend on the group. Blank strings count as empty."""
    if not request.member_id.strip():
        return MEMBER_ID_EMPTY
    if not request.group_id.strip():
        return GROUP_ID_EMPTY
    if request.rack_id is not None and not request.rack_id.strip():
        return RACK_ID_EMPTY
    if request.member_epoch == 0 and not request.subscribed_topic_names:
        return NO_SUBSCRIPTION
    return EPOCH_INVALID if request.member_epoch < LEAVING_EPOCH else None


def check_epoch(member: ShareMember, epoch: int) -> Refusal | None:
    """Check the member epoch of a heartbeat.

    The previous epoch is valid too, because the last response may have been lost. Epoch 0 means that the member joins
    again.
    """
    current = member.current
    if epoch in (0, current.epoch) or (epoch < current.epoch and epoch == current.previous_epoch):
        return None
    return fenced_epoch(SHARE, epoch, current.epoch, current.previous_epoch)
