"""Load groups of a newer protocol from a partition of `__consumer_offsets`, and unload them with it."""

from typing import TYPE_CHECKING, Any

from kohort.coordinator.modern.membership import begin_timers, stop_all
from kohort.coordinator.modern.modern_group import ModernGroup
from kohort.coordinator.modern.modern_values import Change
from kohort.protocol.records.record_reader import RecordReader

if TYPE_CHECKING:
    from kohort.coordinator.coordinator import GroupCoordinator


class ModernLoading:
    """The groups of one partition and one type while it is replayed. They are not served yet."""

    def __init__(self, coordinator: "GroupCoordinator", partition: int, group_class: Any) -> None:
        """Start with no groups.

        Args:
            group_class: Subclass of `ModernGroup`.
        """
        self._coordinator = coordinator
        self._partition = partition
        self._group_class = group_class
        self._end = Change(group_class.kinds.GROUP_EPOCH, None, None)  # deletes the record that every group has
        self.groups: dict[str, ModernGroup] = {}
        self.keeps_offsets: bool = group_class.keeps_offsets

    def apply(self, kind: int, key: RecordReader, value: bytes | None) -> None:
        """Apply a record; `key` is positioned after the record type.

        Raises:
            RecordError: The record cannot be decoded.
        """
        read = self._group_class.records.read_change(kind, key, value)
        if read is None:
            return
        group_id, change = read
        group = self.groups.get(group_id)
        if change == self._end:
            self.groups.pop(group_id, None)
        elif group is not None or value is not None:
            if group is None:
                group = self.groups[group_id] = self._group_class(self._coordinator, group_id, self._partition)
            group.apply(change)

    def finish(self, now_ms: int) -> None:
        for group in self.groups.values():
            group.begin(now_ms)
            begin_timers(group, now_ms)


def unload_groups(coordinator: "GroupCoordinator", group_type: str, partition: int) -> None:
    """Drop the groups of a partition that has moved to another node."""
    for group in [group for group in coordinator.of_type(group_type) if group.partition == partition]:
        for member in group.members.values():
            stop_all(group, member)
        coordinator.observer.group_gone(group, "coordinator_failover")
        group.vanish()
