"""Consumer groups as the records of a partition of `__consumer_offsets` make them, and their end with it."""

from kohort.coordinator.consumer.consumer_group import ConsumerGroup
from kohort.coordinator.consumer.consumer_group_records import read_change
from kohort.coordinator.consumer.progress import begin_sessions
from kohort.coordinator.consumer.values import Kind
from kohort.coordinator.coordinator import GroupCoordinator
from kohort.coordinator.modern.modern_values import Change
from kohort.coordinator.modern.timers import stop_all
from kohort.coordinator.offsets_topic_records import RecordReader


class ConsumerLoading:
    """The consumer groups of one partition, while it is being replayed. Nobody knows them yet."""

    def __init__(self, coordinator: GroupCoordinator, partition: int) -> None:
        self._coordinator = coordinator
        self._partition = partition
        self.groups: dict[str, ConsumerGroup] = {}

    def apply(self, kind: int, key: RecordReader, value: bytes | None) -> None:
        """Takes over a record; `key` stands behind its type. Raises UnreadableRecord."""
        group_id, change = read_change(kind, key, value)
        group = self.groups.get(group_id)
        if change == Change(Kind.GROUP_EPOCH, None, None):
            self.groups.pop(group_id, None)
        elif group is not None or value is not None:
            if group is None:
                group = self.groups[group_id] = ConsumerGroup(self._coordinator, group_id, self._partition)
            group.apply(change)

    def finish(self, now_ms: int) -> None:
        """The groups are served from now on. Every member has a whole session."""
        for group in self.groups.values():
            self._coordinator.consumer_groups[group.group_id] = group
            group.index_anew()
            begin_sessions(group, now_ms)


def unload_consumer_groups(coordinator: GroupCoordinator, partition: int) -> None:
    """Forgets the groups of a partition, which another node coordinates now."""
    for group in [each for each in coordinator.consumer_groups.values() if each.partition == partition]:
        for member in group.members.values():
            stop_all(group, member)
        coordinator.consumer_observer.group_gone(group, "coordinator_failover")
        coordinator.forget_consumer_group(group)
