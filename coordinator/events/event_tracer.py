"""Creates events of all groups of a coordinator while there is a listener (offsets-topic §9).

Classic groups report changes by calls, groups of the newer protocols by the records that they write. Share partitions
on the same node report changes of records. Without a listener `GroupCoordinator.observer` does nothing.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from kohort.coordinator.context import OnWritten
from kohort.coordinator.effects import Cause
from kohort.coordinator.events.classic_event_source import ClassicEventSource
from kohort.coordinator.events.event_timers import HalfTime, StatsTimer
from kohort.coordinator.events.share_record_source import ShareRecordObserver
from kohort.coordinator.groups.group import CLASSIC
from kohort.coordinator.groups.group_types import MODERN_TYPES, import_code
from kohort.coordinator.requesting_client import NOBODY_KNOWN
from kohort.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from kohort.coordinator.classic.classic_group import ClassicGroup
    from kohort.coordinator.coordinator import GroupCoordinator
    from kohort.coordinator.groups.group import Group


@dataclass(eq=False)
class EventObserver(ClassicEventSource):
    """Creates events of the groups of one coordinator: those of classic groups, others by the source of their type."""

    coordinator: "GroupCoordinator"

    def __post_init__(self) -> None:
        for group in self.coordinator.of_type(CLASSIC):
            self.reset(group)
        self._sources: dict[str, Any] = {row.name: import_code(row.event_source)(self) for row in MODERN_TYPES}
        self.records = ShareRecordObserver(self)  # for records of the share partitions that this node leads
        StatsTimer(self.coordinator.purgatory, self.coordinator_ms(), self._flush_while_observing)

    def listen(self) -> None:
        """Start to observe the coordinator."""
        self.coordinator.observe(self, self.records)

    # Classic groups

    def barrier_raised(self, group: "ClassicGroup", timeout_ms: int, now_ms: int) -> None:
        """Schedule a `join_progress` event after half of the timeout."""
        if timeout_ms >= 2:
            state = self.of(group)
            state.cancel_half_time()
            half_time_ms = now_ms + timeout_ms // 2
            state.half_time = HalfTime(self.coordinator.purgatory, half_time_ms, partial(self.join_progress, group))

    # Groups of the newer protocols

    def changed(self, changes: Any, cause: Cause) -> OnWritten | None:
        on_written: OnWritten | None = self._sources[changes.group.group_type].changed(changes, cause)
        return on_written

    def taken_back(self, group: "Group") -> None:
        self._sources[group.group_type].taken_back(group)

    def refused(
        self, group: "Group", member_id: str, instance_id: str | None, epoch: int, error: ErrorCode, ticket: object
    ) -> None:
        self._sources[group.group_type].refused(group, member_id, instance_id, epoch, error, ticket)

    def heartbeat_received(self, group: "Group", member: Any, now_ms: int) -> None:
        self._sources[group.group_type].heartbeat_received(group, member, now_ms)

    # Groups of all types

    def _source_of(self, group: "Group | None") -> Any:
        """Return the source for events of a group of a newer protocol, or None if its events are created here."""
        return None if group is None else self._sources.get(group.group_type)

    def committed(self, group: "Group | None", member_id: str, partitions: int) -> None:
        source = self._source_of(group)
        if source is None:
            super().committed(group, member_id, partitions)
        else:
            source.committed(group, member_id, partitions)

    def commit_rejected(
        self, group: "Group", member_id: str, epoch: int, error: ErrorCode, ticket: object | None
    ) -> None:
        source = self._source_of(group)
        if source is None:
            super().commit_rejected(group, member_id, epoch, error, ticket)
        else:
            source.commit_rejected(group, member_id, epoch, error, ticket)

    def group_gone(self, group: "Group", cause: str) -> None:
        source = self._source_of(group)
        if source is None:
            super().group_gone(group, cause)
        else:
            source.group_gone(group, cause)

    def offsets_expired(self, group: "Group", partitions: int) -> None:
        source = self._source_of(group)
        if source is None:
            super().offsets_expired(group, partitions)
        else:
            source.offsets_expired(group, partitions)

    def access_denied(self, group_id: str, ticket: object, detail: Mapping[str, str]) -> None:
        partition = self.coordinator.partition_of(group_id)
        client, now_us = self.client_of(ticket), self.now_us()
        event = self.event("access_denied", partition, client, now_us, group_id=group_id, detail=detail)
        self.coordinator.effects.append(event)

    # Partitions

    def measured_from_us(self) -> int | None:
        return self.now_us()

    def measured_us(self, began_us: int | None) -> int:
        return 0 if began_us is None else self.now_us() - began_us  # None: observation had not started yet

    def elected(self, partition: int, groups: Iterable["Group"], began_us: int | None) -> None:
        load_us = self.measured_us(began_us)
        self._epochs[partition] = self.epoch_of(partition)
        for group in groups:
            source: Any = self._source_of(group) or self
            source.loaded(group, load_us)
        self._emit_of_partition("coordinator_elected", partition, load_us)

    def resigned(self, partition: int, began_us: int | None) -> None:
        self._emit_of_partition("coordinator_resigned", partition, self.measured_us(began_us))
        self._epochs.pop(partition, None)

    def stopping(self) -> None:
        self.flush_stats()
        for partition in sorted(self.coordinator.shards):
            self.resigned(partition, None)

    def flush_stats(self) -> None:
        """Report heartbeats, commits and rejections since the last report."""
        for group in self.coordinator.of_type(CLASSIC):
            self.flush(group)
        for source in self._sources.values():
            source.flush_stats()

    def _emit_of_partition(self, kind: str, partition: int, duration_us: int) -> None:
        event = self.event(kind, partition, NOBODY_KNOWN, self.now_us(), duration_us=duration_us)
        self.coordinator.effects.append(event)

    def _flush_while_observing(self) -> bool:
        if self.coordinator.observer is not self:
            return False
        self.flush_stats()
        return True
