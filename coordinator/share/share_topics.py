"""Deletion of topics: groups drop their states; the share coordinators do so on their own."""

from collections.abc import Iterator
from uuid import UUID

from kohort.coordinator.coordinator import GroupCoordinator
from kohort.coordinator.effects import Cause
from kohort.coordinator.groups.group import SHARE
from kohort.coordinator.modern.group_changes import GroupChanges
from kohort.coordinator.share.share_values import ShareKind
from kohort.protocol.errors import ErrorCode

GROUPS_AT_ONCE = 500  # groups without the topic that are visited between two yields


def forget_topic(coordinator: GroupCoordinator, topic_id: UUID, now_ms: int) -> Iterator[None]:
    """Remove a deleted topic from all groups. Yield between steps, so that other requests are served."""
    for number, group in enumerate(coordinator.of_type(SHARE), 1):
        if group.states.has_topic(topic_id) and group.is_there:
            changes = GroupChanges(group)
            changes.make(ShareKind.STATE_PARTITIONS, None, group.states.without(topic_id))
            changes.write(now_ms, Cause("topic_deleted"), _ignore_result)
            yield  # the record has all partitions of the group
        elif not number % GROUPS_AT_ONCE:
            yield


def _ignore_result(error: ErrorCode, now_ms: int) -> None:
    """Ignore a failed write: the group still names the topic, but does not assign its partitions."""
