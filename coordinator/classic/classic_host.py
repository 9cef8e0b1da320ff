"""The interface that a classic group needs from its coordinator."""

from typing import TYPE_CHECKING, Protocol

from kohort.coordinator.context import OnWritten
from kohort.coordinator.groups.group_host import GroupHost

if TYPE_CHECKING:
    from kohort.coordinator.classic.classic_group import ClassicGroup
    from kohort.coordinator.classic.observer import Observer


class ClassicHost(GroupHost, Protocol):
    """Implemented by `GroupCoordinator`."""

    observer: "Observer"

    def create_group(self, group_id: str, now_ms: int) -> "ClassicGroup": ...

    def after(self, token: int, on_written: OnWritten) -> None:
        """Call `on_written`, too, when the result of the write with that token is reported."""
        ...
