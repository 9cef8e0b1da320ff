"""Streams groups as the records of a partition of `__consumer_offsets` make them, and their end with it."""

from kohort.coordinator.coordinator import GroupCoordinator
from kohort.coordinator.group import STREAMS
from kohort.coordinator.modern.modern_loading import ModernLoading, unload_groups
from kohort.coordinator.streams.streams_group import StreamsGroup
from kohort.coordinator.streams.streams_group_records import read_change
from kohort.coordinator.streams.streams_group_values import StreamsKind
from kohort.coordinator.streams.streams_sessions import begin_timers


def streams_loading(coordinator: GroupCoordinator) -> ModernLoading[StreamsGroup]:
    """The streams groups of one partition, while it is being replayed."""
    return ModernLoading(read_change, StreamsKind.GROUP_EPOCH, coordinator.new_streams_group, _begin)


def _begin(group: StreamsGroup, now_ms: int) -> None:
    group.appear()
    begin_timers(group, now_ms)


def unload_streams_groups(coordinator: GroupCoordinator, partition: int) -> None:
    """Forgets the groups of a partition, which another node coordinates now."""
    gone = coordinator.streams_observer.group_gone
    unload_groups(coordinator, STREAMS, partition, gone)
