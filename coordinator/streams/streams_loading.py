"""Loading and unloading of the streams groups in a partition of `__consumer_offsets`."""

from kohort.coordinator.coordinator import GroupCoordinator
from kohort.coordinator.groups.group import STREAMS
from kohort.coordinator.modern.modern_loading import ModernLoading, unload_groups
from kohort.coordinator.streams.streams_group import StreamsGroup
from kohort.coordinator.streams.streams_group_records import STREAMS_RECORDS
from kohort.coordinator.streams.streams_group_values import StreamsKind
from kohort.coordinator.streams.streams_sessions import begin_timers


def streams_loading(coordinator: GroupCoordinator) -> ModernLoading[StreamsGroup]:
    return ModernLoading(STREAMS_RECORDS.read_change, StreamsKind.GROUP_EPOCH, coordinator.new_streams_group, _begin)


def _begin(group: StreamsGroup, now_ms: int) -> None:
    group.appear()
    begin_timers(group, now_ms)


def unload_streams_groups(coordinator: GroupCoordinator, partition: int) -> None:
    on_group_gone = coordinator.streams_observer.group_gone
    unload_groups(coordinator, STREAMS, partition, on_group_gone)
