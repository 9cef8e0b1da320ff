"""What a heartbeat must and must not say, in Kafka's order (share-groups §3.2)."""

from kohort.coordinator.group import SHARE
from kohort.coordinator.modern.group_refusals import (
    EPOCH_INVALID,
    GROUP_ID_EMPTY,
    MEMBER_ID_EMPTY,
    RACK_ID_EMPTY,
    Refusal,
    fenced_epoch,
)
from kohort.coordinator.share.share_member import ShareMember
from kohort.coordinator.share.share_values import LEAVING_EPOCH
from kohort.protocol.errors import ErrorCode
from kohort.protocol.messages.share_group_heartbeat import ShareGroupHeartbeatRequest

LONGEST_MEMBER_ID = 36
"""Characters: what a UUID has."""

NO_SUBSCRIPTION = Refusal(ErrorCode.invalid_request, "SubscribedTopicNames must be set in first request.")


def is_member_id(text: str | None) -> bool:
    """Whether it can be the id of a share group's member. What can not is refused without a word."""
    return bool(text) and len(text or "") <= LONGEST_MEMBER_ID


def check_request(request: ShareGroupHeartbeatRequest) -> Refusal | None:
    """What can be judged without the group. Blank is empty."""
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
    """Whether a member may go on with an epoch: its own, or the one before if it has not heard the last answer.

    Who comes with 0 joins again.
    """
    current = member.current
    if epoch in (0, current.epoch) or (epoch < current.epoch and epoch == current.previous_epoch):
        return None
    return fenced_epoch(SHARE, epoch, current.epoch, current.previous_epoch)
