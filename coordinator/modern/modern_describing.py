"""Describe APIs of the newer protocols: one group, or the error for its ID."""

from collections.abc import Callable
from typing import Any

from kohort.coordinator.coordinator import GroupCoordinator
from kohort.coordinator.groups.group_types import GROUP_TYPES, import_code
from kohort.coordinator.modern.group_refusals import Refusal, group_missing, not_of_type
from kohort.coordinator.share_state.state_outcome import MESSAGES
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


def _refusal(coordinator: GroupCoordinator, group_type: str, group_id: str, *, exists: bool) -> Refusal:
    if not group_id:
        return Refusal(ErrorCode.invalid_group_id)
    error = coordinator.availability(group_id)
    if error is not ErrorCode.none:
        return Refusal(error, MESSAGES.get(error) if GROUP_TYPES[group_type].describes_errors else None)
    return not_of_type(group_type, group_id) if exists else group_missing(group_id)
