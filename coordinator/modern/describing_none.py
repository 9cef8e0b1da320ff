"""What is described where there is no share group, or no streams group, of that id."""

from typing import TYPE_CHECKING

from kohort.coordinator.modern.group_refusals import Refusal, group_missing, not_of_kind
from kohort.coordinator.share_state.state_outcome import MESSAGES
from kohort.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from kohort.coordinator.coordinator import GroupCoordinator


def refusal_of_none(coordinator: "GroupCoordinator", kind: str, group_id: str) -> Refusal:
    """INVALID_GROUP_ID for "", GROUP_ID_NOT_FOUND for what is no group of that kind, or who else to ask."""
    if not group_id:
        return Refusal(ErrorCode.invalid_group_id)
    error = coordinator.availability(group_id)
    if error is not ErrorCode.none:
        return Refusal(error, MESSAGES.get(error))
    return group_missing(group_id) if coordinator.described_group(group_id) is None else not_of_kind(kind, group_id)
