"""In-flight records of a share group, as tests see them.

The leader of a partition knows them from the first fetch on. Before that, and after the leader has changed, the state
that is stored in `__share_group_state` is read. This module only reads and changes nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

from kohort.coordinator.share_partitions.in_flight import InFlight, Pending, member_of
from kohort.coordinator.share_partitions.record_states import ACQUIRED, AVAILABLE, IS_TERMINAL, NAMES
from kohort.coordinator.share_partitions.share_partition import Progress, SharePartition
from kohort.coordinator.share_state.share_partition_key import SharePartitionKey
from kohort.coordinator.share_state.state_batches import UNKNOWN_OFFSET
from kohort.groups.shared_records import NOT_LOADED, InFlightRecords, SharePartitionState
from kohort.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from uuid import UUID

    from kohort.broker.cluster.broker_cluster import BrokerCluster
    from kohort.broker.cluster.led_share_partitions import LedSharePartitions
    from kohort.coordinator.groups.group import Group
    from kohort.coordinator.share.share_group import ShareGroup
    from kohort.coordinator.share_state.share_state import ShareState
    from kohort.storage.topic import Partition, Topic

READ_COMMITTED = "read_committed"


def records_of(cluster: BrokerCluster, group: Group, now_ms: int) -> ShareRecords:
    """Return the records of a group, which must be a share group."""
    from kohort.coordinator.share.share_group import ShareGroup

    assert isinstance(group, ShareGroup), "the caller checks the type"
    return ShareRecords(cluster, group, now_ms)


class ShareRecords:
    """The partitions of one share group with their in-flight records."""

    def __init__(self, cluster: BrokerCluster, group: ShareGroup, now_ms: int) -> None:
        self._cluster = cluster
        self._group = group
        self._now_ms = now_ms
        self._client_ids = Counter(member.metadata.client_id for member in group.members.values())

    def called(self, member_id: str) -> str:
        """Return the display name of a holder of records, which need not be a member."""
        member = self._group.members.get(member_id)
        name = "" if member is None else member.metadata.client_id
        return name if name and self._client_ids[name] == 1 else member_id

    # Partitions

    def partitions(self) -> Iterator[SharePartitionState]:
        for topic, partition in self.tracked_partitions():
            yield self.state_of(topic, partition)

    def tracked_partitions(self) -> Iterator[tuple[Topic, Partition]]:
        """Yield partitions that have a state or whose topic members subscribe to, in the order of their names."""
        topic_ids = self._group.states.all_topics()
        topics = {
            found_topic for topic_id in topic_ids if (found_topic := self._cluster.topics.by_id(topic_id)) is not None
        }
        topics |= {
            found_topic for name in self._group.names if (found_topic := self._cluster.topics.by_name(name)) is not None
        }
        for topic in sorted(topics, key=lambda found_topic: found_topic.name):
            begun = topic_ids[topic.topic_id][1] if topic.topic_id in topic_ids else frozenset()
            for partition in topic.partitions:
                if topic.name in self._group.names or partition.index in begun:
                    yield topic, partition

    def state_of(self, topic: Topic, partition: Partition) -> SharePartitionState:
        loaded, start = self.loaded(topic, partition), self.start_of(topic, partition)
        counts, next_offset = dict.fromkeys(NAMES, 0), start
        for first, last, range_state in self._ranges(topic, partition):
            counts[range_state] += last - first + 1
            next_offset = last + 1
        log = partition.log
        config = self._group.config
        initializing = self._group.states.initializing.get(topic.topic_id)
        is_committed_only = config.isolation_level == READ_COMMITTED
        return SharePartitionState(
            topic=topic.name,
            partition=partition.index,
            leader=partition.leader if partition.leader >= 0 else None,
            is_ready=partition.index in self._group.states.ready(topic.topic_id),
            progress=NOT_LOADED if loaded is None else loaded.progress.value,
            start_offset=start,
            next_offset=None if start is None else next_offset,
            log_end_offset=log.high_watermark,
            lag=self.lag_of(topic, partition),
            acquired=counts[ACQUIRED],
            available=counts[AVAILABLE],
            done=sum(count for range_state, count in counts.items() if IS_TERMINAL[range_state]),
            fetched_by=self._fetched_by(topic.topic_id, partition),
            log_start_offset=log.log_start_offset,
            readable_end=partition.last_stable_offset if is_committed_only else log.high_watermark,
            is_initializing=initializing is not None and partition.index in initializing.partitions,
            next_fetch_offset=None if loaded is None else loaded.next_fetch_offset,
            in_flight_count=0 if loaded is None else loaded.in_flight.count,
            has_room=loaded is not None and loaded.has_room,
        )

    def loaded(self, topic: Topic, partition: Partition) -> SharePartition | None:
        led = self._led(partition)
        share_partition = None if led is None else led.find(self._key(topic, partition))
        return (
            None
            if share_partition is None or share_partition.leader_epoch != partition.leader_epoch
            else share_partition
        )

    def _led(self, partition: Partition) -> LedSharePartitions | None:
        node = self._cluster.node(partition.leader)
        return None if node is None or not node.running else node.led_share_partitions

    def _key(self, topic: Topic, partition: Partition) -> SharePartitionKey:
        return SharePartitionKey(self._group.group_id, topic.topic_id, partition.index)

    def _written(self, topic: Topic, partition: Partition) -> ShareState | None:
        """Return the state that the share coordinator stores, or None if it is missing or not available now."""
        key = self._key(topic, partition)
        coordinator = self._cluster.share_state_topic.coordinator_of(key.text)
        states = None if coordinator is None else coordinator.states_of(key)
        return None if states is None or isinstance(states, ErrorCode) else states.get(key)

    def start_of(self, topic: Topic, partition: Partition) -> int | None:
        loaded = self.loaded(topic, partition)
        if loaded is not None and loaded.progress is Progress.ACTIVE:
            return loaded.in_flight.start
        written = self._written(topic, partition)
        return None if written is None or written.start_offset == UNKNOWN_OFFSET else written.start_offset

    def lag_of(self, topic: Topic, partition: Partition) -> int | None:
        """Return the number of unfinished records of a partition, or None while that is not known."""
        log, start = partition.log, self.start_of(topic, partition)
        if start is None:  # an empty log has no lag, whatever the start offset will be
            return 0 if log.log_start_offset == log.high_watermark else None
        begin = max(start, log.log_start_offset)
        return max(0, log.high_watermark - begin - self._done_from(topic, partition, begin))

    def _done_from(self, topic: Topic, partition: Partition, begin: int) -> int:
        """Return the number of finished records from an offset on, without acknowledgements that are being stored."""
        return sum(
            last - max(first, begin) + 1
            for first, last, state in self._ranges(topic, partition)
            if IS_TERMINAL[state] and last >= begin
        )

    def _ranges(self, topic: Topic, partition: Partition) -> Iterator[tuple[int, int, int]]:
        """Yield first offset, last offset and state of the ranges that `in_flight` describes.

        These are read from columns, without an object for each range, because waiting calls repeat this often.
        """
        loaded = self.loaded(topic, partition)
        if loaded is None or loaded.progress is not Progress.ACTIVE:
            written = self._written(topic, partition)
            if written is not None:
                yield from zip(written.batches.firsts, written.batches.lasts, written.batches.states, strict=True)
            return
        in_flight = loaded.in_flight
        columns = in_flight.firsts, in_flight.lasts, in_flight.states, in_flight.holders
        for first, last, state, holder in zip(*columns, strict=True):
            if last >= in_flight.start:
                yield max(first, in_flight.start), last, state if holder is None else ACQUIRED

    def _fetched_by(self, topic_id: UUID, partition: Partition) -> tuple[str, ...]:
        led = self._led(partition)
        sessions = [] if led is None else led.sessions.of_group(self._group.group_id)
        return tuple(session.member_id for session in sessions if (topic_id, partition.index) in session.partitions)

    # Records

    def in_flight(self, topic: Topic, partition: Partition) -> Iterator[InFlightRecords]:
        """Yield the records from the start offset to the last delivered offset, in order."""
        loaded = self.loaded(topic, partition)
        if loaded is not None and loaded.progress is Progress.ACTIVE:
            yield from self._read_ranges(topic.name, partition.index, loaded.in_flight)
            return
        written = self._written(topic, partition)
        for batch in () if written is None else written.batches:
            state, count = NAMES[batch.delivery_state], batch.delivery_count
            key = topic.name, partition.index, batch.first_offset, batch.last_offset
            yield InFlightRecords(*key, state, count, "", "", None, False)

    def _read_ranges(self, topic: str, partition: int, in_flight: InFlight) -> Iterator[InFlightRecords]:
        for index in range(len(in_flight)):
            first, last = max(in_flight.firsts[index], in_flight.start), in_flight.lasts[index]
            if last < first:
                continue
            state, holder = in_flight.states[index], in_flight.holders[index]
            member_id = "" if holder is None else member_of(holder)
            yield InFlightRecords(
                topic=topic,
                partition=partition,
                first_offset=first,
                last_offset=last,
                state=NAMES[ACQUIRED if holder is not None else state],
                delivery_count=in_flight.counts[index],
                holder="" if holder is None else self.called(member_id),
                member_id=member_id,
                ends_in_ms=None if holder is None else max(0, in_flight.locked_until[index] - self._now_ms),
                is_being_written=isinstance(holder, Pending),
            )
