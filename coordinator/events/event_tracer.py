"""One tracer for a coordinator: what happens to its groups becomes events, while somebody listens (offsets-topic §9).

Classic groups say what happens by calls, those of the newer protocols by the records that they write; of the records
of topics the share partitions tell that the same node leads. `GroupCoordinator.observer` does nothing while
nobody listens.
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
from kohort.coordinator.share.share_group import ShareGroup
from kohort.coordinator.streams.streams_group import StreamsGroup

if TYPE_CHECKING:
    from kohort.coordinator.group import Group


@dataclass(eq=False)
class EventObserver(ClassicEventSource):
    """Turns what happens to the groups of one coordinator into events."""

    def __post_init__(self) -> None:
        """Groups that are there already are met as they stand."""
        for group in self.coordinator.groups.values():
            self.meet_anew(group)
        self.consumers = ConsumerEventObserver(self)
        """For the consumer groups of the same coordinator."""
        self.shares = ShareEventObserver(self)
        """For its share groups."""
        self.streams = StreamsEventObserver(self)
        """For its streams groups."""
        self.records = ShareRecordObserver(self)
        """For the records of the share partitions that its node leads."""
        StatsTimer(self.coordinator.purgatory, self.coordinator_ms(), self._flush_while_heard)

    def listen(self) -> None:
        """Hears from now on what happens."""
        self.coordinator.observe(self, self.consumers, self.shares, self.streams, self.records)

    def measured_from_us(self) -> int | None:
        """Now."""
        return self.now_us()

    def elected(self, partition: int, groups: Iterable["Group"], began_us: int | None) -> None:
        """This node coordinates a partition's groups from now on."""
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
        """The node no longer coordinates a partition's groups."""
        self._emit_of_partition("coordinator_resigned", partition, self._since(began_us))
        self._epochs.pop(partition, None)

    def _since(self, began_us: int | None) -> int:
        """Microseconds since then; 0 where nobody listened yet."""
        return 0 if began_us is None else self.now_us() - began_us

    def stopping(self) -> None:
        """The process ends in good order: the sums so far, and the partitions that it coordinated."""
        self.flush_stats()
        for partition in sorted(self.coordinator.shards):
            self.resigned(partition, None)

    def flush_stats(self) -> None:
        """Every member's heartbeats and commits, and what was refused, since the last report."""
        for group in self.coordinator.groups.values():
            self.flush(group)
        self.consumers.flush_stats()
        self.shares.flush_stats()
        self.streams.flush_stats()

    def _flush_while_heard(self) -> bool:
        """Reports the sums. Returns whether anybody still listens."""
        if self.coordinator.observer is not self:
            return False
        self.flush_stats()
        return True
