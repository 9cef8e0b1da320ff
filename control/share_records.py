"""What a share group has in flight, as a test sees it.

The leader of a partition knows it, once somebody has fetched from there. Before that, and after a leader has moved,
there is what was written down in `__share_group_state`. Looks and changes nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kohort.coordinator.share_partitions.in_flight import InFlight, Pending, member_of
from kohort.coordinator.share_partitions.record_states import ACQUIRED, AVAILABLE, IS_TERMINAL, NAMES
from kohort.coordinator.share_partitions.share_partition import Progress, SharePartition
from kohort.coordinator.share_state.share_partition_key import SharePartitionKey
from kohort.coordinator.share_state.state_batches import UNKNOWN_OFFSET
from kohort.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from uuid import UUID

    from kohort.broker.cluster.broker_cluster import BrokerCluster
    from kohort.broker.cluster.led_share_partitions import LedSharePartitions
    from kohort.coordinator.share.share_group import ShareGroup
    from kohort.coordinator.share_state.share_state import ShareState
    from kohort.storage.topic import Partition, Topic

NOT_LOADED = "not loaded"
"""How far a leader is from which nobody has fetched since it leads."""


@dataclass(frozen=True)
class InFlightRecords:
    """Neighbouring offsets of a partition that are alike, at the moment somebody looked."""

    topic: str
    partition: int
    first_offset: int
    last_offset: int
    state: str
    """`available`: delivered, and to be had again; `acquired`: held; `acknowledged`: accepted; or `archived`."""
    delivery_count: int
    holder: str
    """What people call the member that holds them: its client id or, where several have that, its member id.

    Empty: nobody holds them.
    """
    member_id: str
    ends_in_ms: int | None
    """When the lock expires, on the brokers' clock; None: nobody holds them."""
    is_being_written: bool
    """Whether its holder has said what is to become of them, and that is being written down."""

    @property
    def count(self) -> int:
        """How many offsets."""
        return self.last_offset - self.first_offset + 1

    def __str__(self) -> str:
        held = f" by {self.holder} for {(self.ends_in_ms or 0) / 1_000:g} s" if self.holder else ""
        what = f"{self.topic}-{self.partition} {offsets(self.first_offset, self.last_offset)}: {self.state}{held}"
        return f"{what}, {delivered(self.delivery_count)}" + (", being written" if self.is_being_written else "")


@dataclass(frozen=True)
class SharePartitionState:
    """A partition as a share group sees it, at the moment somebody looked."""

    topic: str
    partition: int
    leader: int | None
    """The node that gives out its records; None: nobody leads it."""
    is_ready: bool
    """Whether a heartbeat has had its state begun, without which nobody is assigned it."""
    progress: str
    """`active`; `initializing`: its leader reads what was written down; or `not loaded`: nobody has fetched yet."""
    start_offset: int | None
    """The first offset that is not done with; None: not decided yet (`share.auto.offset.reset`), or not known."""
    next_offset: int | None
    """The first offset that nobody was ever given; None: not known."""
    log_end_offset: int
    lag: int | None
    """Records that are not done with, as Kafka's tools count them; None: not known before it begins somewhere."""
    acquired: int
    """Records that members hold."""
    available: int
    """Records that were delivered and may be had again."""
    done: int
    """Records behind the start that were accepted or archived; the start cannot move past what lies before them."""
    fetched_by: tuple[str, ...]
    """The ids of the members whose share sessions have the partition."""

    def __str__(self) -> str:
        start = "a start to be decided" if self.start_offset is None else f"start {self.start_offset}"
        lag = "unknown" if self.lag is None else self.lag
        return f"{self.topic}-{self.partition}: {self.progress}, {start}, {self.acquired} held, lag {lag}"


def offsets(first: int, last: int) -> str:
    """`3` or `3-7`."""
    return str(first) if first == last else f"{first}-{last}"


def delivered(count: int) -> str:
    """`delivered once`."""
    return "never delivered" if not count else f"delivered {'once' if count == 1 else f'{count} times'}"


class ShareRecords:
    """The partitions of one share group, and what is in flight there."""

    def __init__(self, cluster: BrokerCluster, group: ShareGroup, now_ms: int) -> None:
        self._cluster = cluster
        self._group = group
        self._now_ms = now_ms
        self._client_ids = Counter(each.metadata.client_id for each in group.members.values())

    def called(self, member_id: str) -> str:
        """What people call who holds records; whoever may read may hold some, even one who is no member."""
        member = self._group.members.get(member_id)
        name = "" if member is None else member.metadata.client_id
        return name if name and self._client_ids[name] == 1 else member_id

    # Partitions

    def partitions(self) -> Iterator[SharePartitionState]:
        """All that have a state or whose topic members subscribe to, in the order of their names."""
        for topic, partition in self.where():
            yield self.state_of(topic, partition)

    def where(self) -> Iterator[tuple[Topic, Partition]]:
        """The partitions that the group has to do with."""
        known = self._group.states.known()
        topics = {each for topic_id in known if (each := self._cluster.topics.by_id(topic_id)) is not None}
        topics |= {each for name in self._group.names if (each := self._cluster.topics.by_name(name)) is not None}
        for topic in sorted(topics, key=lambda each: each.name):
            begun = known[topic.topic_id][1] if topic.topic_id in known else frozenset()
            for partition in topic.partitions:
                if topic.name in self._group.names or partition.index in begun:
                    yield topic, partition

    def state_of(self, topic: Topic, partition: Partition) -> SharePartitionState:
        """One of them."""
        loaded, ranges = self.loaded(topic, partition), list(self.in_flight(topic, partition))
        start = self._start(topic, partition)

        def count(*states: str) -> int:
            return sum(each.count for each in ranges if each.state in states)

        log = partition.log
        return SharePartitionState(
            topic=topic.name,
            partition=partition.index,
            leader=partition.leader if partition.leader >= 0 else None,
            is_ready=partition.index in self._group.states.ready(topic.topic_id),
            progress=NOT_LOADED if loaded is None else loaded.progress.value,
            start_offset=start,
            next_offset=None if start is None else max([start, *(each.last_offset + 1 for each in ranges)]),
            log_end_offset=log.high_watermark,
            lag=self.lag_of(topic, partition),
            acquired=count(NAMES[ACQUIRED]),
            available=count(NAMES[AVAILABLE]),
            done=sum(each.count for each in ranges if each.state in _DONE),
            fetched_by=self._fetched_by(topic.topic_id, partition),
        )

    def loaded(self, topic: Topic, partition: Partition) -> SharePartition | None:
        """What its leader knows of it; None: nothing yet."""
        led = self._led(partition)
        found = None if led is None else led.known(self._key(topic, partition))
        return None if found is None or found.leader_epoch != partition.leader_epoch else found

    def _led(self, partition: Partition) -> LedSharePartitions | None:
        node = self._cluster.node(partition.leader)
        return None if node is None or not node.running else node.led_share_partitions

    def _key(self, topic: Topic, partition: Partition) -> SharePartitionKey:
        return SharePartitionKey(self._group.group_id, topic.topic_id, partition.index)

    def _written(self, topic: Topic, partition: Partition) -> ShareState | None:
        """What its share coordinator keeps; None: nothing, or nobody can tell now."""
        key = self._key(topic, partition)
        coordinator = self._cluster.share_state_topic.coordinator_of(key.text)
        states = None if coordinator is None else coordinator.states_of(key)
        return None if states is None or isinstance(states, ErrorCode) else states.get(key)

    def _start(self, topic: Topic, partition: Partition) -> int | None:
        loaded = self.loaded(topic, partition)
        if loaded is not None and loaded.progress is Progress.ACTIVE:
            return loaded.in_flight.start
        written = self._written(topic, partition)
        return None if written is None or written.start_offset == UNKNOWN_OFFSET else written.start_offset

    def lag_of(self, topic: Topic, partition: Partition) -> int | None:
        """Records of a partition that are not done with; None: that is not known yet."""
        log, start = partition.log, self._start(topic, partition)
        if start is None:  # wherever it begins, an empty log has nothing for it
            return 0 if log.log_start_offset == log.high_watermark else None
        begin = max(start, log.log_start_offset)
        return max(0, log.high_watermark - begin - self._done_from(topic, partition, begin))

    def _done_from(self, topic: Topic, partition: Partition, begin: int) -> int:
        """How many records from an offset on are done with; what is being written is not yet."""
        loaded = self.loaded(topic, partition)
        if loaded is not None and loaded.progress is Progress.ACTIVE:
            return _settled_from(loaded.in_flight, begin)
        done = (each for each in self.in_flight(topic, partition) if each.state in _DONE and each.last_offset >= begin)
        return sum(each.last_offset - max(each.first_offset, begin) + 1 for each in done)

    def _fetched_by(self, topic_id: UUID, partition: Partition) -> tuple[str, ...]:
        led = self._led(partition)
        sessions = [] if led is None else led.sessions.of_group(self._group.group_id)
        return tuple(each.member_id for each in sessions if (topic_id, partition.index) in each.partitions)

    # Records

    def in_flight(self, topic: Topic, partition: Partition) -> Iterator[InFlightRecords]:
        """What lies between the start and the last offset that was given out, in the order of the offsets."""
        loaded = self.loaded(topic, partition)
        if loaded is not None and loaded.progress is Progress.ACTIVE:
            yield from self._known(topic.name, partition.index, loaded.in_flight)
            return
        written = self._written(topic, partition)
        for batch in () if written is None else written.batches:
            state, count = NAMES[batch.delivery_state], batch.delivery_count
            where = topic.name, partition.index, batch.first_offset, batch.last_offset
            yield InFlightRecords(*where, state, count, "", "", None, False)

    def _known(self, topic: str, partition: int, in_flight: InFlight) -> Iterator[InFlightRecords]:
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


def _settled_from(in_flight: InFlight, begin: int) -> int:
    """Over columns, without a value for each range: whoever waits asks again and again."""
    return sum(
        last - max(first, begin) + 1
        for first, last, state, holder in zip(
            in_flight.firsts, in_flight.lasts, in_flight.states, in_flight.holders, strict=True
        )
        if IS_TERMINAL[state] and holder is None and last >= begin
    )


_DONE = frozenset(name for state, name in NAMES.items() if IS_TERMINAL[state])
