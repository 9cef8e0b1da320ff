"""Streams groups as the records of a partition of `__consumer_offsets` make them, and their end with it."""

from kohort.coordinator.coordinator import GroupCoordinator
from kohort.coordinator.modern.modern_values import Change
from kohort.coordinator.modern.timers import stop_all
from kohort.coordinator.offsets_topic_records import RecordReader
from kohort.coordinator.streams.streams_group import StreamsGroup
from kohort.coordinator.streams.streams_group_records import read_change
from kohort.coordinator.streams.streams_group_values import StreamsKind
from kohort.coordinator.streams.streams_sessions import begin_timers


class StreamsLoading:
    """The streams groups of one partition, while it is being replayed. Nobody knows them yet."""

    def __init__(self, coordinator: GroupCoordinator) -> None:
        self._coordinator = coordinator
        self.groups: dict[str, StreamsGroup] = {}

    def apply(self, kind: int, key: RecordReader, value: bytes | None) -> None:
        """Takes over a record; `key` stands behind its type. Raises UnreadableRecord."""
        read = read_change(kind, key, value)
        if read is None:
            return
        group_id, change = read
        group = self.groups.get(group_id)
        if change == Change(StreamsKind.GROUP_EPOCH, None, None):
            self.groups.pop(group_id, None)
        elif group is not None or value is not None:
            if group is None:
                group = self.groups[group_id] = self._coordinator.new_streams_group(group_id)
            group.apply(change)

    def finish(self, now_ms: int) -> None:
        """The groups are served from now on. Every member has a whole session."""
        for group in self.groups.values():
            group.appear()
            begin_timers(group, now_ms)


def unload_streams_groups(coordinator: GroupCoordinator, partition: int) -> None:
    """Forgets the groups of a partition, which another node coordinates now."""
    for group in [each for each in coordinator.streams_groups.values() if each.partition == partition]:
        for member in group.members.values():
            stop_all(group, member)
        coordinator.streams_observer.group_gone(group, "coordinator_failover")
        group.vanish()
