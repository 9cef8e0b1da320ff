"""Groups of a newer protocol as the records of a partition of `__consumer_offsets` make them, and their end with it."""

from collections.abc import Callable, Mapping
from enum import IntEnum
from typing import Generic, TypeVar

from kohort.coordinator.modern.modern_group import ModernGroup
from kohort.coordinator.modern.modern_values import Change
from kohort.coordinator.modern.timers import stop_all
from kohort.coordinator.offsets_topic_records import RecordReader

G = TypeVar("G", bound=ModernGroup)

ReadChange = Callable[[int, RecordReader, bytes | None], tuple[str, Change] | None]
"""Gets a record: its type, the key behind that, and its value. Returns its group and what it says; None: nothing."""


class ModernLoading(Generic[G]):
    """The groups of one partition and one protocol, while it is being replayed. Nobody knows them yet."""

    def __init__(
        self, read: ReadChange, epoch: IntEnum, new_group: Callable[[str], G], begin: Callable[[G, int], None]
    ) -> None:
        """`epoch`: the kind of record that every group has. `begin`: serves it; every member has a whole session."""
        self._read = read
        self._end = Change(epoch, None, None)
        self._new_group = new_group
        self._begin = begin
        self.groups: dict[str, G] = {}

    def apply(self, kind: int, key: RecordReader, value: bytes | None) -> None:
        """Takes over a record; `key` stands behind its type. Raises UnreadableRecord."""
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
        """The groups are served from now on."""
        for group in self.groups.values():
            self._begin(group, now_ms)


def unload_groups(
    groups: Mapping[str, G], partition: int, gone: Callable[[G, str], None], forget: Callable[[G], None]
) -> None:
    """Forgets the groups of a partition, which another node coordinates now. `gone` is told of each, and why."""
    for group in [each for each in groups.values() if each.partition == partition]:
        for member in group.members.values():
            stop_all(group, member)
        gone(group, "coordinator_failover")
        forget(group)
