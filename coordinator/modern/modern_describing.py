"""Describe APIs of the newer protocols: the entry of one group, or the error for its ID."""

from collections.abc import Callable, Collection, Mapping
from typing import Any
from uuid import UUID

from kohort.coordinator.coordinator import GroupCoordinator
from kohort.coordinator.groups.group_types import GROUP_TYPES, import_code
from kohort.coordinator.modern.group_refusals import Refusal, group_missing, not_of_type
from kohort.coordinator.share_state.state_outcome import MESSAGES
from kohort.coordinator.topic_info import TopicView
from kohort.protocol.errors import ErrorCode


def describe(coordinator: GroupCoordinator, group_type: str, new_entry: Callable[..., Any], group_id: str) -> Any:
    """Describe a group of a type, as requests that only read see it.

    Errors: INVALID_GROUP_ID for "", an error that makes the client look for the group's coordinator, and
    GROUP_ID_NOT_FOUND for groups of other types.

    Args:
        new_entry: Class of an entry in the response.
    """
    row = GROUP_TYPES[group_type]
    group = coordinator.described_group(group_id)
    if group is not None and group.group_type == group_type and row.describe is not None:
        return import_code(row.describe)(group)
    refusal = _refusal(coordinator, group_type, group_id, exists=group is not None)
    return new_entry(error_code=refusal.error, error_message=refusal.message, group_id=group_id)


def entry_of(group: Any, new_entry: Callable[..., Any], new_member: Callable[[Any, Any], Any], **fields: Any) -> Any:
    """Return the entry of a group in the response of its Describe API, with further fields of its type."""
    return new_entry(
        error_code=ErrorCode.none,
        group_id=group.group_id,
        group_state=group.state_name,
        group_epoch=group.epoch,
        assignment_epoch=group.target_epoch,
        assignor_name=group.assignor_name,
        members=tuple(new_member(group, member) for member in group.members_in_table_order()),
        **fields,
    )


def existing_topics(
    topics: TopicView, partitions: Mapping[UUID, Collection[int]], new_topic: Callable[..., Any]
) -> tuple[Any, ...]:
    """Return the partitions of an assignment by topic, without those of deleted topics."""
    return tuple(
        new_topic(topic_id=topic_id, topic_name=topic.name, partitions=tuple(sorted(numbers)))
        for topic_id, numbers in partitions.items()
        if (topic := topics.by_id(topic_id)) is not None
    )


def _refusal(coordinator: GroupCoordinator, group_type: str, group_id: str, *, exists: bool) -> Refusal:
    if not group_id:
        return Refusal(ErrorCode.invalid_group_id)
    error = coordinator.availability(group_id)
    if error is not ErrorCode.none:
        return Refusal(error, MESSAGES.get(error) if GROUP_TYPES[group_type].describes_errors else None)
    return not_of_type(group_type, group_id) if exists else group_missing(group_id)
