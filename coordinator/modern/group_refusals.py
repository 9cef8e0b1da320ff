"""Errors that all newer protocols share, with Kafka's messages.

Groups of one type are named as in ListGroups: consumer, share or streams.
"""

from typing import NamedTuple

from kohort.protocol.errors import ErrorCode


class Refusal(NamedTuple):
    """An error code and Kafka's message."""

    error: ErrorCode
    message: str | None = None


MEMBER_ID_EMPTY = Refusal(ErrorCode.invalid_request, "MemberId can't be empty.")
GROUP_ID_EMPTY = Refusal(ErrorCode.invalid_request, "GroupId can't be empty.")
INSTANCE_ID_EMPTY = Refusal(ErrorCode.invalid_request, "InstanceId can't be empty.")
INSTANCE_ID_NULL = Refusal(ErrorCode.invalid_request, "InstanceId can't be null.")
NO_REBALANCE_TIMEOUT = Refusal(ErrorCode.invalid_request, "RebalanceTimeoutMs must be provided in first request.")
RACK_ID_EMPTY = Refusal(ErrorCode.invalid_request, "RackId can't be empty.")
EPOCH_INVALID = Refusal(ErrorCode.invalid_request, "MemberEpoch is invalid.")
NOT_SERVED = Refusal(ErrorCode.unsupported_version)


def type_missing(group_type: str, group_id: str) -> Refusal:
    return Refusal(ErrorCode.group_id_not_found, f"{group_type.capitalize()} group {group_id} not found.")


def group_missing(group_id: str) -> Refusal:
    return Refusal(ErrorCode.group_id_not_found, f"Group {group_id} not found.")


def not_of_type(group_type: str, group_id: str) -> Refusal:
    return Refusal(ErrorCode.group_id_not_found, f"Group {group_id} is not a {group_type} group.")


def group_full(group_type: str, limit: int) -> Refusal:
    message = f"The {group_type} group has reached its maximum capacity of {limit} members."
    return Refusal(ErrorCode.group_max_size_reached, message)


def unknown_member(member_id: str, group_id: str) -> Refusal:
    return Refusal(ErrorCode.unknown_member_id, f"Member {member_id} is not a member of group {group_id}.")


def fenced_epoch(group_type: str, received: int, current: int, previous: int | None = None) -> Refusal:
    """Return the error for a member epoch that differs from the coordinator's.

    Args:
        previous: Previous member epoch, named in the message if `received` is smaller than the current epoch.
    """
    is_greater = received > current
    also = "" if is_greater or previous is None else f", and it does not match the previous member epoch ({previous})"
    message = (
        f"The {group_type} group member has a {'greater' if is_greater else 'smaller'} member epoch ({received}) than "
        f"the one known by the group coordinator ({current}){also}. The member must abandon all its partitions and "
        "rejoin."
    )
    return Refusal(ErrorCode.fenced_member_epoch, message)


def unknown_instance(instance_id: str) -> Refusal:
    return Refusal(ErrorCode.unknown_member_id, f"Instance id {instance_id} is unknown.")


def fenced_instance(member_id: str, instance_id: str, holder: str) -> Refusal:
    message = f"Static member {member_id} with instance id {instance_id} was fenced by member {holder}."
    return Refusal(ErrorCode.fenced_instance_id, message)


def unreleased_instance(member_id: str, instance_id: str, holder: str) -> Refusal:
    message = (
        f"Static member {member_id} with instance id {instance_id} cannot join the group because the instance id is "
        f"owned by {holder} member."
    )
    return Refusal(ErrorCode.unreleased_instance_id, message)


def unknown_state(group_type: str, owned: str) -> Refusal:
    """Return the error for a member whose state a newer broker wrote.

    Args:
        owned: What members own, partitions or tasks.
    """
    message = (
        f"The {group_type} group member is in a unknown state. The member must abandon all its {owned} and rejoin."
    )
    return Refusal(ErrorCode.fenced_member_epoch, message)
