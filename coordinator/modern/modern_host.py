"""Interface of the coordinator for groups of the newer protocols."""

from collections import deque
from typing import TYPE_CHECKING, Protocol

from kohort.coordinator.groups.group_host import GroupHost
from kohort.coordinator.topic_info import TopicView
from kohort.protocol.errors import ErrorCode
from kohort.purgatory import DelayedOperation

if TYPE_CHECKING:
    from kohort.coordinator.modern.writing import WriteQueue


class ModernHost(GroupHost, Protocol):
    """The parts of `GroupCoordinator` that these groups use."""

    topics: TopicView
    # Writes in progress by group ID, including those of groups that have changed their protocol meanwhile.
    unwritten: "dict[str, WriteQueue]"
    appended_offset: int | None
    background: deque[DelayedOperation]  # background work in the order of its turns

    def conclude(self, token: int, error: ErrorCode, now_ms: int) -> None:
        """Report the result of the write with that token."""
        ...
