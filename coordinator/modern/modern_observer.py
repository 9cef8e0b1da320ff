"""What happens to groups of the newer protocols, as an observer hears of it. No group decides anything by it."""

from typing import TYPE_CHECKING, Any, Generic, TypeVar

from kohort.coordinator.context import OnWritten
from kohort.coordinator.effects import Cause
from kohort.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from kohort.coordinator.modern.group_changes import GroupChanges
    from kohort.coordinator.modern.modern_group import ModernGroup

GroupT = TypeVar("GroupT", bound="ModernGroup", contravariant=True)


class ModernObserver(Generic[GroupT]):
    """Does nothing: so it is while nobody listens to a coordinator. `coordinator/events/` makes events of it."""

    def changed(self, changes: "GroupChanges", cause: Cause) -> OnWritten | None:
        """A batch of changes is about to be written. What is returned is called when it is, or cannot be."""
        return None

    def taken_back(self, group: GroupT) -> None:
        """What could not be written was taken back, and all that built on it."""

    def refused(
        self, group: GroupT, member_id: str, instance_id: str | None, epoch: int, error: ErrorCode, ticket: object
    ) -> None:
        """A heartbeat of that epoch was refused."""

    def group_gone(self, group: GroupT, cause: str) -> None:
        """It was deleted, or its coordinator has moved."""


UNOBSERVED = ModernObserver[Any]()
