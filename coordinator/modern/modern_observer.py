"""Observer of changes to groups of the newer protocols. It does not influence any decision."""

from typing import TYPE_CHECKING, Any, Generic, TypeVar

from kohort.coordinator.context import OnWritten
from kohort.coordinator.effects import Cause
from kohort.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from kohort.coordinator.modern.group_changes import GroupChanges
    from kohort.coordinator.modern.modern_group import ModernGroup

GroupT = TypeVar("GroupT", bound="ModernGroup", contravariant=True)


class ModernObserver(Generic[GroupT]):
    """The observer that ignores everything; `coordinator/events/` has observers that create events."""

    def changed(self, changes: "GroupChanges", cause: Cause) -> OnWritten | None:
        """Report changes that are about to be written; return a callback for the result of the write."""
        return None

    def taken_back(self, group: GroupT) -> None:
        """Report that changes, and all later ones that depend on them, were undone after a failed write."""

    def refused(
        self, group: GroupT, member_id: str, instance_id: str | None, epoch: int, error: ErrorCode, ticket: object
    ) -> None:
        """Report a rejected heartbeat."""

    def group_gone(self, group: GroupT, cause: str) -> None:
        """Report that a group was deleted or that its coordinator has moved."""


UNOBSERVED = ModernObserver[Any]()
