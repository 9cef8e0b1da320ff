"""Errors of consumer groups, with Kafka's messages (consumer-groups §24)."""

from kohort.coordinator.groups.group import CONSUMER
from kohort.coordinator.modern.group_refusals import Refusal, kind_missing, not_of_kind
from kohort.protocol.errors import ErrorCode

OWNS_ON_JOINING = Refusal(ErrorCode.invalid_request, "TopicPartitions must be empty when (re-)joining.")
NO_SUBSCRIPTION = Refusal(
    ErrorCode.invalid_request,
    "Either SubscribedTopicNames or SubscribedTopicRegex must be non-null when (re-)joining.",
)


def unsupported_assignor(name: str, supported: tuple[str, ...]) -> Refusal:
    message = f"ServerAssignor {name} is not supported. Supported assignors: {', '.join(supported)}."
    return Refusal(ErrorCode.unsupported_assignor, message)


def consumer_group_missing(group_id: str) -> Refusal:
    return kind_missing(CONSUMER, group_id)


def not_a_consumer_group(group_id: str) -> Refusal:
    return not_of_kind(CONSUMER, group_id)


UNKNOWN_STATE = Refusal(
    ErrorCode.fenced_member_epoch,
    "The consumer group member is in a unknown state. The member must abandon all its partitions and rejoin.",
)


def invalid_regex(regex: str, reason: str) -> Refusal:
    message = f"SubscribedTopicRegex `{regex}` is not a valid regular expression: {reason}."
    return Refusal(ErrorCode.invalid_regular_expression, message)
