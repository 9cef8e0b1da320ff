"""Refusals of consumer groups, with Kafka's messages (consumer-groups §24)."""

from typing import NamedTuple

from kohort.protocol.errors import ErrorCode


class Refusal(NamedTuple):
    """An error, and what Kafka says about it."""

    error: ErrorCode
    message: str | None = None


MEMBER_ID_EMPTY = Refusal(ErrorCode.invalid_request, "MemberId can't be empty.")
GROUP_ID_EMPTY = Refusal(ErrorCode.invalid_request, "GroupId can't be empty.")
INSTANCE_ID_EMPTY = Refusal(ErrorCode.invalid_request, "InstanceId can't be empty.")
INSTANCE_ID_NULL = Refusal(ErrorCode.invalid_request, "InstanceId can't be null.")
RACK_ID_EMPTY = Refusal(ErrorCode.invalid_request, "RackId can't be empty.")
NO_REBALANCE_TIMEOUT = Refusal(ErrorCode.invalid_request, "RebalanceTimeoutMs must be provided in first request.")
OWNS_ON_JOINING = Refusal(ErrorCode.invalid_request, "TopicPartitions must be empty when (re-)joining.")
NO_SUBSCRIPTION = Refusal(
    ErrorCode.invalid_request,
    "Either SubscribedTopicNames or SubscribedTopicRegex must be non-null when (re-)joining.",
)
EPOCH_INVALID = Refusal(ErrorCode.invalid_request, "MemberEpoch is invalid.")
NOT_SERVED = Refusal(ErrorCode.unsupported_version)


def unsupported_assignor(name: str, supported: tuple[str, ...]) -> Refusal:
    """A server-side assignor that is not configured."""
    message = f"ServerAssignor {name} is not supported. Supported assignors: {', '.join(supported)}."
    return Refusal(ErrorCode.unsupported_assignor, message)


def consumer_group_missing(group_id: str) -> Refusal:
    """A member beats whose group does not exist."""
    return Refusal(ErrorCode.group_id_not_found, f"Consumer group {group_id} not found.")


def group_missing(group_id: str) -> Refusal:
    """Refuses to leave or to describe a group that does not exist."""
    return Refusal(ErrorCode.group_id_not_found, f"Group {group_id} not found.")


def not_a_consumer_group(group_id: str) -> Refusal:
    """The group is of another protocol."""
    return Refusal(ErrorCode.group_id_not_found, f"Group {group_id} is not a consumer group.")


def group_full(limit: int) -> Refusal:
    """The group has `group.consumer.max.size` members."""
    message = f"The consumer group has reached its maximum capacity of {limit} members."
    return Refusal(ErrorCode.group_max_size_reached, message)


def unknown_member(member_id: str, group_id: str) -> Refusal:
    """Nobody in the group has that id."""
    return Refusal(ErrorCode.unknown_member_id, f"Member {member_id} is not a member of group {group_id}.")


def unknown_instance(instance_id: str) -> Refusal:
    """Nobody in the group has that group instance id."""
    return Refusal(ErrorCode.unknown_member_id, f"Instance id {instance_id} is unknown.")


def fenced_instance(member_id: str, instance_id: str, holder: str) -> Refusal:
    """Another member has that group instance id."""
    message = f"Static member {member_id} with instance id {instance_id} was fenced by member {holder}."
    return Refusal(ErrorCode.fenced_instance_id, message)


def unreleased_instance(member_id: str, instance_id: str, holder: str) -> Refusal:
    """Another member has that group instance id and has not stepped out."""
    message = (
        f"Static member {member_id} with instance id {instance_id} cannot join the group because the instance id is "
        f"owned by {holder} member."
    )
    return Refusal(ErrorCode.unreleased_instance_id, message)


def fenced_epoch(received: int, known: int) -> Refusal:
    """The member's epoch is not the coordinator's."""
    message = (
        f"The consumer group member has a {'greater' if received > known else 'smaller'} member epoch ({received}) "
        f"than the one known by the group coordinator ({known}). The member must abandon all its partitions and rejoin."
    )
    return Refusal(ErrorCode.fenced_member_epoch, message)


UNKNOWN_STATE = Refusal(
    ErrorCode.fenced_member_epoch,
    "The consumer group member is in a unknown state. The member must abandon all its partitions and rejoin.",
)


def invalid_regex(regex: str, reason: str) -> Refusal:
    """A pattern that RE2 does not understand."""
    message = f"SubscribedTopicRegex `{regex}` is not a valid regular expression: {reason}."
    return Refusal(ErrorCode.invalid_regular_expression, message)
