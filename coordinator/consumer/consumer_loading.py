"""Load consumer groups from a partition of `__consumer_offsets`, and unload them with it."""

from functools import partial

from kohort.coordinator.consumer.consumer_group import ConsumerGroup
from kohort.coordinator.consumer.consumer_group_records import CONSUMER_RECORDS
from kohort.coordinator.consumer.progress import begin_sessions
from kohort.coordinator.consumer.values import Kind
from kohort.coordinator.coordinator import GroupCoordinator
from kohort.coordinator.groups.group import CONSUMER
from kohort.coordinator.modern.modern_loading import ModernLoading, unload_groups


def consumer_loading(coordinator: GroupCoordinator, partition: int) -> ModernLoading[ConsumerGroup]:
    def new_group(group_id: str) -> ConsumerGroup:
        return ConsumerGroup(coordinator, group_id, partition)

    return ModernLoading(CONSUMER_RECORDS.read_change, Kind.GROUP_EPOCH, new_group, partial(_begin, coordinator))


def _begin(coordinator: GroupCoordinator, group: ConsumerGroup, now_ms: int) -> None:
    group.appear()
    group.rebuild_indexes()
    begin_sessions(group, now_ms)


def unload_consumer_groups(coordinator: GroupCoordinator, partition: int) -> None:
    """Drop the groups of a partition that has moved to another node."""
    on_unload = coordinator.consumer_observer.group_gone
    unload_groups(coordinator, CONSUMER, partition, on_unload)
