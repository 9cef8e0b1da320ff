"""Helpers of the modules that convert a group to a `GroupView`."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any
from uuid import UUID

from kohort.purgatory import DelayedOperation

IsAlive = Callable[[Any, Any], bool]  # returns whether a member, given its group and itself, can send heartbeats


def partitions_by_name(group: Any, partitions: Mapping[UUID, Iterable[int]]) -> dict[str, tuple[int, ...]]:
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


def next_target_in_ms(group: Any, interval_ms: int, now_ms: int) -> int | None:
    """Return the time that the next target must wait for the assignment interval, or None if none is needed."""
    if group.target_epoch >= group.epoch:
        return None
    return max(0, int(group.target_timestamp_ms) + interval_ms - int(group.coordinator.wall_ms(now_ms)))
