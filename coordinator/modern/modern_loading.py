"""Load groups of a newer protocol from a partition of `__consumer_offsets`, and unload them with it."""

from collections.abc import Callable
from enum import IntEnum
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from kohort.coordinator.modern.modern_group import ModernGroup
from kohort.coordinator.modern.modern_values import Change
from kohort.coordinator.modern.timers import stop_all
from kohort.protocol.records.record_reader import RecordReader

if TYPE_CHECKING:
    from kohort.coordinator.coordinator import GroupCoordinator

G = TypeVar("G", bound=ModernGroup)

# Decodes a record from its type, the rest of its key, and its value; returns the group ID and the change, or None.
ReadChange = Callable[[int, RecordReader, bytes | None], tuple[str, Change] | None]


class ModernLoading(Generic[G]):
    """The groups of one partition and one protocol while it is replayed. They are not served yet."""

    def __init__(
        self, read: ReadChange, epoch: IntEnum, new_group: Callable[[str], G], begin: Callable[[G, int], None]
    ) -> None:
        """Start with no groups.

        Args:
            epoch: Type of the record that every group has.
            begin: Starts to serve a group and starts the session of each member.
        """
        self._read = read
        self._end = Change(epoch, None, None)
        self._new_group = new_group
        self._begin = begin
        self.groups: dict[str, G] = {}

    def apply(self, kind: int, key: RecordReader, value: bytes | None) -> None:
        """Apply a record; `key` is positioned after the record type.

        Raises:
            RecordError: The record cannot be decoded.
        """
        read = self._read(kind, key, value)
        if read is None:
            return
        group_id, change = read
        group = self.groups.get(group_id)
        if change == self._end:
            self.groups.pop(group_id, None)
        elif group is not None or value is not None:
            if group is None:
                group = self.groups[group_id] = self._new_group(group_id)
            group.apply(change)

    def finish(self, now_ms: int) -> None:
        for group in self.groups.values():
            self._begin(group, now_ms)


def unload_groups(
    coordinator: "GroupCoordinator", group_type: str, partition: int, on_unload: Callable[[Any, str], None]
) -> None:
    """Drop the groups of a partition that has moved to another node; call `on_unload` with each group and the cause."""
    for group in [group for group in coordinator.of_type(group_type) if group.partition == partition]:
        for member in group.members.values():
            stop_all(group, member)
        on_unload(group, "coordinator_failover")
        group.vanish()
