"""Creates events of all groups of a coordinator while there is a listener (offsets-topic §9).

Classic groups report changes by calls, groups of the newer protocols by the records that they write. Share partitions
on the same node report changes of records. Without a listener `GroupCoordinator.observer` does nothing.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kohort.coordinator.classic.classic_group import ClassicGroup
from kohort.coordinator.consumer.consumer_group import ConsumerGroup
from kohort.coordinator.events.classic_event_source import ClassicEventSource
from kohort.coordinator.events.consumer_event_source import ConsumerEventObserver
from kohort.coordinator.events.event_timers import StatsTimer
from kohort.coordinator.events.share_event_source import ShareEventObserver
from kohort.coordinator.events.share_record_source import ShareRecordObserver
from kohort.coordinator.events.streams_event_source import StreamsEventObserver
from kohort.coordinator.groups.group import CLASSIC
from kohort.coordinator.share.share_group import ShareGroup
from kohort.coordinator.streams.streams_group import StreamsGroup

if TYPE_CHECKING:
    from kohort.coordinator.groups.group import Group


@dataclass(eq=False)
class EventObserver(ClassicEventSource):
    """Creates events of the groups of one coordinator."""

    def __post_init__(self) -> None:
        for group in self.coordinator.of_type(CLASSIC):
            self.reset(group)
        self.consumers = ConsumerEventObserver(self)
        self.shares = ShareEventObserver(self)
        self.streams = StreamsEventObserver(self)
        self.records = ShareRecordObserver(self)  # for records of the share partitions that this node leads
        StatsTimer(self.coordinator.purgatory, self.coordinator_ms(), self._flush_while_observing)

    def listen(self) -> None:
        """Start to observe the coordinator."""
        self.coordinator.observe(self, self.consumers, self.shares, self.streams, self.records)

    def measured_from_us(self) -> int | None:
        return self.now_us()

    def elected(self, partition: int, groups: Iterable["Group"], began_us: int | None) -> None:
        load_us = self._since(began_us)
        self._epochs[partition] = self.epoch_of(partition)
        for group in groups:
            if isinstance(group, ConsumerGroup):
                self.consumers.loaded(group, load_us)
            elif isinstance(group, ShareGroup):
                self.shares.loaded(group, load_us)
            elif isinstance(group, StreamsGroup):
                self.streams.loaded(group, load_us)
            elif isinstance(group, ClassicGroup):
                self.loaded(group, load_us)
        self._emit_of_partition("coordinator_elected", partition, load_us)

    def resigned(self, partition: int, began_us: int | None) -> None:
        self._emit_of_partition("coordinator_resigned", partition, self._since(began_us))
        self._epochs.pop(partition, None)

    def _since(self, began_us: int | None) -> int:
        """Return the elapsed time, or 0 if observation had not started yet."""
        return 0 if began_us is None else self.now_us() - began_us

    def stopping(self) -> None:
        self.flush_stats()
        for partition in sorted(self.coordinator.shards):
            self.resigned(partition, None)

    def flush_stats(self) -> None:
        """Report heartbeats, commits and rejections since the last report."""
        for group in self.coordinator.of_type(CLASSIC):
            self.flush(group)
        self.consumers.flush_stats()
        self.shares.flush_stats()
        self.streams.flush_stats()

    def _flush_while_observing(self) -> bool:
        if self.coordinator.observer is not self:
            return False
        self.flush_stats()
        return True
