"""Validation of heartbeat requests, in Kafka's order, with Kafka's messages (consumer-groups §5.1, §5.2, §24)."""

from collections.abc import Collection, Mapping
from uuid import UUID

from kohort.coordinator.consumer.consumer_member import ConsumerMember
from kohort.coordinator.coordinator_settings import GroupSettings
from kohort.coordinator.groups.group import CONSUMER
from kohort.coordinator.modern.group_refusals import (
    EPOCH_INVALID,
    GROUP_ID_EMPTY,
    INSTANCE_ID_EMPTY,
    INSTANCE_ID_NULL,
    MEMBER_ID_EMPTY,
    NO_REBALANCE_TIMEOUT,
    NOT_SERVED,
    RACK_ID_EMPTY,
    Refusal,
    fenced_epoch,
)
from kohort.coordinator.modern.modern_values import LEAVING_EPOCH, STATIC_LEAVING_EPOCH
from kohort.protocol.errors import ErrorCode
from kohort.protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest

OWNS_ON_JOINING = Refusal(ErrorCode.invalid_request, "TopicPartitions must be empty when (re-)joining.")
NO_SUBSCRIPTION = Refusal(
    ErrorCode.invalid_request,
    "Either SubscribedTopicNames or SubscribedTopicRegex must be non-null when (re-)joining.",
)


def unsupported_assignor(name: str, supported: tuple[str, ...]) -> Refusal:
    message = f"ServerAssignor {name} is not supported. Supported assignors: {', '.join(supported)}."
    return Refusal(ErrorCode.unsupported_assignor, message)


def invalid_regex(regex: str, reason: str) -> Refusal:
    message = f"SubscribedTopicRegex `{regex}` is not a valid regular expression: {reason}."
    return Refusal(ErrorCode.invalid_regular_expression, message)


def is_served(settings: GroupSettings) -> bool:
    """Return whether the consumer protocol is enabled (`group.coordinator.rebalance.protocols`)."""
    return CONSUMER in settings.group_coordinator_rebalance_protocols


def check_request(settings: GroupSettings, request: ConsumerGroupHeartbeatRequest, version: int) -> Refusal | None:
    """Return the error that can be determined without the group, if any. Blank strings count as empty."""
    epoch = request.member_epoch
    if not is_served(settings):
        return NOT_SERVED
    if (version >= 1 or epoch > 0 or epoch == LEAVING_EPOCH) and not request.member_id.strip():
        return MEMBER_ID_EMPTY
    if not request.group_id.strip():
        return GROUP_ID_EMPTY
    if request.instance_id is not None and not request.instance_id.strip():
        return INSTANCE_ID_EMPTY
    if request.rack_id is not None and not request.rack_id.strip():
        return RACK_ID_EMPTY
    refusal = _check_joining(request) if epoch == 0 else None
    if refusal is not None:
        return refusal
    if epoch == STATIC_LEAVING_EPOCH and request.instance_id is None:
        return INSTANCE_ID_NULL
    if epoch < STATIC_LEAVING_EPOCH:
        return EPOCH_INVALID
    assignors = settings.group_consumer_assignors
    if request.server_assignor is not None and request.server_assignor not in assignors:
        return unsupported_assignor(request.server_assignor, assignors)
    return None


def _check_joining(request: ConsumerGroupHeartbeatRequest) -> Refusal | None:
    if request.rebalance_timeout_ms == -1:
        return NO_REBALANCE_TIMEOUT
    if request.topic_partitions is None or request.topic_partitions:
        return OWNS_ON_JOINING
    if request.subscribed_topic_names is None and request.subscribed_topic_regex is None:
        return NO_SUBSCRIPTION
    return None


def check_epoch(member: ConsumerMember, epoch: int, reported: Mapping[UUID, Collection[int]] | None) -> Refusal | None:
    """Return an error if the member must not continue with this epoch.

    The previous epoch is accepted from a member that may have missed the last response, if it reports its partitions
    and each of them is assigned to it. A reported topic without partitions counts, too: Kafka looks up its ID first.
    """
    current = member.current
    if epoch in (0, current.epoch):
        return None
    if epoch == current.previous_epoch and epoch < current.epoch and reported is not None:
        owned = current.assigned
        if all(topic_id in owned and owned[topic_id].keys() >= set(numbers) for topic_id, numbers in reported.items()):
            return None
    return fenced_epoch(CONSUMER, epoch, current.epoch)
