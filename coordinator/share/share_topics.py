"""Topics that are deleted: groups forget their states, which share coordinators drop by themselves."""

from collections.abc import Iterator
from uuid import UUID

from kohort.coordinator.coordinator import GroupCoordinator
from kohort.coordinator.effects import Cause
from kohort.coordinator.group import SHARE
from kohort.coordinator.modern.group_changes import GroupChanges
from kohort.coordinator.share.share_values import ShareKind
from kohort.protocol.errors import ErrorCode

GROUPS_AT_ONCE = 500
"""Groups that are looked at in one step, if none of them has the topic."""


def forget_topic(coordinator: GroupCoordinator, topic_id: UUID, now_ms: int) -> Iterator[None]:
    """Note in every group that has it that the topic is gone. Yields where other clients may be served."""
    for number, group in enumerate(coordinator.of_type(SHARE), 1):
        if group.states.has_topic(topic_id) and group.is_there:
            changes = GroupChanges(group)
            changes.make(ShareKind.STATE_PARTITIONS, None, group.states.without(topic_id))
            changes.write(now_ms, Cause("topic_deleted"), _nobody_waits)
            yield  # what is written names all partitions of the group
        elif not number % GROUPS_AT_ONCE:
            yield


def _nobody_waits(error: ErrorCode, now_ms: int) -> None:
    """If that could not be written the topic is named on. Its partitions are assigned to nobody: it is not there."""
