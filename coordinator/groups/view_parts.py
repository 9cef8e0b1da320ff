"""Helpers of the modules that convert a group to a `GroupView`."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any
from uuid import UUID

from kohort.coordinator.modern.modern_group import ModernGroup
from kohort.groups.group_members import GroupMember
from kohort.groups.group_view import GroupView, ShareView, StreamsView
from kohort.purgatory import DelayedOperation

IsAlive = Callable[[Any, Any], bool]  # returns whether a member, given its group and itself, can send heartbeats


def view_of_modern_group(
    group: ModernGroup,
    members: Iterable[GroupMember],
    now_ms: int,
    *,
    share: ShareView | None = None,
    streams: StreamsView | None = None,
) -> GroupView:
    config = group.config
    return GroupView(
        group_id=group.group_id,
        type=group.group_type,
        state=group.state_name,
        version=group.epoch,
        target_epoch=group.target_epoch,
        protocol=group.assignor_name if group.members else "",
        members=tuple(members),
        next_target_in_ms=next_target_in_ms(group, now_ms),
        heartbeat_interval_ms=config.heartbeat_interval_ms,
        session_timeout_ms=config.session_timeout_ms,
        share=share,
        streams=streams,
    )


def partitions_by_name(group: ModernGroup, partitions: Mapping[UUID, Iterable[int]]) -> dict[str, tuple[int, ...]]:
    """Return partitions by topic name, or by topic id if the topic was deleted."""
    by_topic = {}
    for topic_id, numbers in partitions.items():
        topic = group.coordinator.topics.by_id(topic_id)
        if numbers:
            by_topic[str(topic_id) if topic is None else topic.name] = tuple(sorted(numbers))
    return dict(sorted(by_topic.items()))


def remaining_ms(timer: DelayedOperation | None, now_ms: int) -> int | None:
    """Return the remaining time of a timer, or None if it doesn't run."""
    return None if timer is None or timer.completed else max(0, timer.deadline_ms - now_ms)


def next_target_in_ms(group: ModernGroup, now_ms: int) -> int | None:
    """Return the time that the next target must wait for the assignment interval, or None if none is needed."""
    if group.target_epoch >= group.epoch:
        return None
    interval_ms: int = group.config.assignment_interval_ms
    return max(0, group.target_timestamp_ms + interval_ms - group.coordinator.wall_ms(now_ms))
