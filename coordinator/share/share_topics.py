"""Topics that are deleted: groups forget their states, which share coordinators drop by themselves."""

from collections.abc import Iterator
from uuid import UUID

from kohort.coordinator.coordinator import GroupCoordinator
from kohort.coordinator.effects import Cause
from kohort.coordinator.modern.group_changes import GroupChanges
from kohort.coordinator.share.share_values import ShareKind
from kohort.protocol.errors import ErrorCode

GROUPS_AT_ONCE = 100
"""Groups that are looked at in one step."""


def forget_topic(coordinator: GroupCoordinator, topic_id: UUID, now_ms: int) -> Iterator[None]:
    """Notes in every group that knows it that the topic is gone. Yields where others may be served."""
    for number, group in enumerate(list(coordinator.share_groups.values()), 1):
        without = group.states.without(topic_id)
        if without != group.states and group.is_there:
            changes = GroupChanges(group)
            changes.make(ShareKind.STATE_PARTITIONS, None, without)
            changes.write(now_ms, Cause("topic_deleted"), _nobody_waits)
        if not number % GROUPS_AT_ONCE:
            yield


def _nobody_waits(error: ErrorCode, now_ms: int) -> None:
    """If that could not be written the topic is named on. Its partitions are assigned to nobody: it is not there."""
