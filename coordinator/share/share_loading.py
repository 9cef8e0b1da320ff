"""Loading and unloading of the share groups in a partition of `__consumer_offsets`."""

from functools import partial

from kohort.coordinator.coordinator import GroupCoordinator
from kohort.coordinator.groups.group import SHARE
from kohort.coordinator.modern.modern_loading import ModernLoading, unload_groups
from kohort.coordinator.share.share_group import ShareGroup
from kohort.coordinator.share.share_group_records import SHARE_RECORDS
from kohort.coordinator.share.share_sessions import keep_alive
from kohort.coordinator.share.share_values import ShareKind


def share_loading(coordinator: GroupCoordinator) -> ModernLoading[ShareGroup]:
    begin = partial(_begin, coordinator)
    return ModernLoading(SHARE_RECORDS.read_change, ShareKind.GROUP_EPOCH, coordinator.new_share_group, begin)


def _begin(coordinator: GroupCoordinator, group: ShareGroup, now_ms: int) -> None:
    group.appear()
    group.states = group.states.since(now_ms)
    for member in group.members.values():
        keep_alive(group, member, now_ms)


def unload_share_groups(coordinator: GroupCoordinator, partition: int) -> None:
    on_group_gone = coordinator.share_observer.group_gone
    unload_groups(coordinator, SHARE, partition, on_group_gone)
