"""Errors of describe requests for a group ID without a group of the requested type."""

from typing import TYPE_CHECKING

from kohort.coordinator.modern.group_refusals import Refusal, group_missing, not_of_kind
from kohort.coordinator.share_state.state_outcome import MESSAGES
from kohort.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from kohort.coordinator.coordinator import GroupCoordinator


def describe_refusal(coordinator: "GroupCoordinator", kind: str, group_id: str) -> Refusal:
    """Return the error for an ID without a group of this type: that of an unavailable partition comes first."""
    if not group_id:
        return Refusal(ErrorCode.invalid_group_id)
    error = coordinator.availability(group_id)
    if error is not ErrorCode.none:
        return Refusal(error, MESSAGES.get(error))
    return group_missing(group_id) if coordinator.described_group(group_id) is None else not_of_kind(kind, group_id)
