"""What a group of any newer protocol asks of its coordinator."""

from collections import deque
from typing import TYPE_CHECKING, Protocol

from kohort.coordinator.group_host import GroupHost
from kohort.coordinator.topic_info import TopicView
from kohort.protocol.errors import ErrorCode
from kohort.purgatory import DelayedOperation

if TYPE_CHECKING:
    from kohort.coordinator.modern.writing import WriteQueue


class ModernHost(GroupHost, Protocol):
    """Met by `GroupCoordinator`."""

    topics: TopicView
    unwritten: "dict[str, WriteQueue]"
    """By group id, what is being written, also of groups that have changed their protocol meanwhile."""
    appended_offset: int | None
    beside: deque[DelayedOperation]
    """Work that is done between heartbeats, in the order of its turns; see beside.py."""

    def conclude(self, token: int, heard: ErrorCode, now_ms: int) -> None:
        """Reports the write of that token, with an error as clients hear it."""
        ...
