"""Becoming the coordinator of a partition's groups, and ceasing to be (classic-groups §1.5, §1.6)."""

from collections.abc import Iterable, Iterator
from itertools import islice
from operator import itemgetter
from struct import Struct
from sys import intern
from typing import TYPE_CHECKING, ClassVar

from kohort.coordinator.classic import sessions
from kohort.coordinator.classic.classic_group import ClassicGroup
from kohort.coordinator.classic.classic_member import Member
from kohort.coordinator.classic.dissolving import dissolve
from kohort.coordinator.classic.rebalancing import prepare_rebalance
from kohort.coordinator.classic.states import State
from kohort.coordinator.context import Shard
from kohort.coordinator.coordinator import GroupCoordinator
from kohort.coordinator.effects import Cause
from kohort.coordinator.group import Group
from kohort.coordinator.offsets import CommittedOffset, GroupOffsets
from kohort.coordinator.offsets_topic_records import (
    GroupKey,
    GroupValue,
    OffsetKey,
    RecordReader,
    UnreadableRecord,
    offset_key,
    read_group_value,
    read_key,
    read_offset_value,
)
from kohort.coordinator.pending_offsets import PendingOffsets
from kohort.protocol.batches import CONTROL, TRANSACTIONAL, BatchInfo, keys_and_values, read_marker
from kohort.protocol.consumer_protocol import ImpossibleLengthError
from kohort.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from kohort.coordinator.consumer.consumer_group import ConsumerGroup
    from kohort.coordinator.modern.modern_loading import ModernLoading
    from kohort.coordinator.share.share_group import ShareGroup
    from kohort.coordinator.streams.streams_group import StreamsGroup

_INT = Struct(">i")

CONSUMER_KINDS = frozenset((*range(3, 9), 16))
"""The types of records that are a consumer group's."""

SHARE_KINDS = range(10, 16)
"""Those of a share group."""

STREAMS_KINDS = range(17, 24)
"""Those of a streams group; 18 is free."""

GROUPS_AT_ONCE = 20
"""At most this many are made in a step: a millisecond."""


class PendingTransaction:
    """The records of an open transaction: by key, where each stands and its value. None: a later commit counts."""

    __slots__ = ("values",)

    def __init__(self) -> None:
        self.values: dict[bytes, tuple[int, bytes | None]] = {}

    def take(self, records: Iterable[tuple[bytes | None, bytes | None]], order: int) -> None:
        """Takes over a batch, which stands behind `order` other records. Raises records.UnreadableRecord."""
        for number, (key, value) in enumerate(records, order):
            if key is None:
                raise UnreadableRecord("a record without a key")
            self.values[key] = number, value


class Loading:
    """The replay of one partition's records. Until it is finished, requests for its groups hear that it is loading.

    Commits of one consumer have the same keys again and again, hence `_known`: it saves reading them.
    """

    what: ClassVar[str] = "groups"

    def __init__(self, coordinator: GroupCoordinator, partition: int) -> None:
        self._coordinator = coordinator
        self._partition = partition
        self._groups: dict[str, GroupValue] = {}
        self._consumer_groups: ModernLoading[ConsumerGroup] | None = None
        """None: there has been no record of any."""
        self._share_groups: ModernLoading[ShareGroup] | None = None
        """Likewise."""
        self._streams_groups: ModernLoading[StreamsGroup] | None = None
        """Likewise."""
        self._offsets: dict[str, GroupOffsets] = {}
        self._known: dict[bytes, dict[int, CommittedOffset]] = {}
        """Keys of offsets without their last four bytes, the partition: a group's offsets of one topic."""
        self._open: dict[int, PendingTransaction] = {}
        """What transactions have written that have not ended yet, by producer id."""
        self._prepared: dict[str, tuple[GroupValue, ClassicGroup]] = {}
        """Groups as these values have them. Nobody knows them yet."""
        self._unprepared: Iterator[tuple[str, GroupValue]] | None = None
        self.records = 0
        """How many have been applied, for whoever reports the load."""
        coordinator.shards[partition] = Shard.LOADING
        self._began_us = coordinator.observer.measured_from_us()

    def apply_batch(self, data: bytes | memoryview, batch: BatchInfo) -> None:
        """Takes over the records of a batch that lies in `data`; those of a transaction once its marker comes.

        Raises records.UnreadableRecord, and DecodeError for a batch that is none.
        """
        if batch.attributes & CONTROL:
            self._end_transaction(data, batch)
            return
        if batch.attributes & TRANSACTIONAL:
            transaction = self._open.setdefault(batch.producer_id, PendingTransaction())
            transaction.take(keys_and_values(data, batch), self.records)
            self.records += batch.record_count
            return
        for key, value in keys_and_values(data, batch):
            if key is None:
                raise UnreadableRecord("a record without a key")
            self.apply(key, value)

    def apply(self, key: bytes, value: bytes | None, order: int | None = None) -> None:
        """Takes the next record over; a later one of the same key replaces it, one without value deletes it.

        `order`: where it stood, if it is one of a transaction that has ended now.
        Records of kinds that this release does not know are passed over. Raises records.UnreadableRecord.
        """
        if self._open:
            self._overtake(key, self.records if order is None else order, deleted=value is None)
        self.records += 1
        partitions = self._known.get(key[: -_INT.size])
        if partitions is not None:
            self._apply_offset(partitions, _INT.unpack_from(key, len(key) - _INT.size)[0], value)
            return
        match read_key(key):
            case OffsetKey(group_id, topic, partition):
                offsets = self._offsets.get(group_id)
                if offsets is None:
                    offsets = self._offsets[group_id] = GroupOffsets()
                partitions = offsets.topics.setdefault(intern(topic), {})
                if offset_key(group_id, topic, partition) == key:
                    self._known[key[: -_INT.size]] = partitions
                self._apply_offset(partitions, partition, value)
            case GroupKey(group_id):
                self._apply_to_classic_group(group_id, value)
            case None:
                reader = RecordReader(key)
                kind = reader.int16()
                if kind in CONSUMER_KINDS:
                    self._apply_to_consumer_group(kind, reader, value)
                elif kind in SHARE_KINDS:
                    self._apply_to_share_group(kind, reader, value)
                elif kind in STREAMS_KINDS:
                    self._apply_to_streams_group(kind, reader, value)

    def _apply_to_consumer_group(self, kind: int, reader: RecordReader, value: bytes | None) -> None:
        if self._consumer_groups is None:
            from kohort.coordinator.consumer.consumer_loading import consumer_loading  # seldom needed, as the others

            self._consumer_groups = consumer_loading(self._coordinator, self._partition)
        self._consumer_groups.apply(kind, reader, value)

    def _apply_to_classic_group(self, group_id: str, value: bytes | None) -> None:
        """It takes the place of a group of another kind, whose end need not have been written (forgotten_groups.py)."""
        if self._consumer_groups is not None:
            self._consumer_groups.groups.pop(group_id, None)
        if self._streams_groups is not None:
            self._streams_groups.groups.pop(group_id, None)
        if value is not None:
            self._groups[group_id] = read_group_value(value)
        else:
            self._groups.pop(group_id, None)

    def _apply_to_share_group(self, kind: int, reader: RecordReader, value: bytes | None) -> None:
        if self._share_groups is None:
            from kohort.coordinator.share.share_loading import share_loading  # not for logs without such groups

            self._share_groups = share_loading(self._coordinator)
        self._share_groups.apply(kind, reader, value)

    def _apply_to_streams_group(self, kind: int, reader: RecordReader, value: bytes | None) -> None:
        if self._streams_groups is None:
            from kohort.coordinator.streams.streams_loading import streams_loading  # not for logs without such groups

            self._streams_groups = streams_loading(self._coordinator)
        self._streams_groups.apply(kind, reader, value)

    def _overtake(self, key: bytes, order: int, *, deleted: bool) -> None:
        """What counts now overtakes what stands before it in open transactions; a deletion deletes that too."""
        for producer_id, transaction in list(self._open.items()):
            known = transaction.values.get(key)
            if known is None or known[0] >= order:
                continue
            if not deleted:
                transaction.values[key] = known[0], None
                continue
            del transaction.values[key]
            if not transaction.values:
                del self._open[producer_id]

    def _end_transaction(self, data: bytes | memoryview, batch: BatchInfo) -> None:
        marker = read_marker(data, batch)
        if marker is None:
            return
        transaction = self._open.pop(batch.producer_id, None)
        if transaction is not None and marker.committed:
            for key, (order, value) in transaction.values.items():
                if value is not None:
                    self.apply(key, value, order)

    def _apply_offset(self, partitions: dict[int, CommittedOffset], partition: int, value: bytes | None) -> None:
        if value is None:
            partitions.pop(partition, None)
            return
        read = read_offset_value(value)
        committed = partitions.get(partition)
        if committed is None or not committed.fits(read.metadata, read.topic_id):
            partitions[partition] = CommittedOffset.of(read)
        else:
            committed.take(read.offset, read.leader_epoch, read.commit_timestamp_ms, read.expire_timestamp_ms)

    def prepare(self, now_ms: int) -> bool:
        """Makes some of the groups, before `finish` starts their sessions. Returns whether there are more to make.

        A record that comes after that counts all the same: its group is made anew.
        """
        if self._unprepared is None:
            self._unprepared = iter(list(self._groups.items()))
        some = list(islice(self._unprepared, GROUPS_AT_ONCE))
        for group_id, value in some:
            group = self._new_group(group_id, now_ms)
            _restore(group, value)
            self._prepared[group_id] = value, group
        return len(some) == GROUPS_AT_ONCE

    def _new_group(self, group_id: str, now_ms: int) -> ClassicGroup:
        coordinator = self._coordinator
        return ClassicGroup(coordinator, group_id, coordinator.partition_of(group_id), coordinator.wall_ms(now_ms))

    def finish(self, now_ms: int) -> int:
        """The groups are served from now on. Returns how many there are."""
        coordinator = self._coordinator
        coordinator.shards[self._partition] = Shard.ACTIVE
        self._known.clear()
        for offsets in self._offsets.values():
            offsets.forget_empty_topics()
        pending = self._pending()
        loaded = (
            self._groups.keys() | pending.keys() | {group_id for group_id, offsets in self._offsets.items() if offsets}
        )
        groups: list[ClassicGroup] = []
        modern = self._finish_modern(pending, now_ms)
        modern_ids = {group.group_id for group in modern}
        for group_id in sorted(loaded - modern_ids):
            value = self._groups.get(group_id)
            known, group = self._prepared.get(group_id) or (None, None)
            if group is None or known is not value:
                group = self._new_group(group_id, now_ms)
                if value is not None:
                    _restore(group, value)
            coordinator.groups[group_id] = group
            groups.append(group)
            self._give_offsets(group, pending)
            for member in group.members.values():
                sessions.extend(group, member, now_ms)
        coordinator.observer.elected(self._partition, [*groups, *modern], self._began_us)
        for group in groups:
            if len(group.members) > coordinator.settings.group_max_size:
                prepare_rebalance(group, Cause("over_capacity"), now_ms)
        return len(loaded | modern_ids)

    def _finish_modern(self, pending: dict[str, PendingOffsets], now_ms: int) -> list[Group]:
        """Groups of the newer protocols are served from now on. Returns them; two of one id, where the log has both."""
        found: list[Group] = []
        kinds = ((self._consumer_groups, True), (self._share_groups, False), (self._streams_groups, True))
        for loading, commits in kinds:
            if loading is None:
                continue
            if commits:
                for group in loading.groups.values():
                    self._give_offsets(group, pending)
            loading.finish(now_ms)
            found += loading.groups.values()
        return found

    def _give_offsets(self, group: Group, pending: dict[str, PendingOffsets]) -> None:
        """What a group has committed, and what it has committed in transactions that are open."""
        group.offsets = self._offsets.get(group.group_id)
        group.pending_offsets = pending.get(group.group_id)
        for producer_id in group.pending_offsets.producers if group.pending_offsets is not None else ():
            open_groups = self._coordinator.open_transactions.setdefault((self._partition, producer_id), set())
            open_groups.add(group.group_id)

    def _pending(self) -> dict[str, PendingOffsets]:
        """What open transactions have committed, by group."""
        pending: dict[str, PendingOffsets] = {}
        records = [
            (order, producer_id, key, value)
            for producer_id, transaction in self._open.items()
            for key, (order, value) in transaction.values.items()
        ]
        for _, producer_id, key, value in sorted(records, key=itemgetter(0)):
            name = read_key(key)
            if isinstance(name, OffsetKey):
                offsets = pending.setdefault(name.group_id, PendingOffsets())
                committed = None if value is None else CommittedOffset.of(read_offset_value(value))
                offsets.put(producer_id, (name.topic, name.partition), committed)
        return pending

    def fail(self) -> None:
        """The records cannot be read, or somebody else leads: this node does not coordinate the partition's groups."""
        self._coordinator.shards.pop(self._partition, None)


def load(
    coordinator: GroupCoordinator, partition: int, records: Iterable[tuple[bytes, bytes | None]], now_ms: int
) -> int:
    """Replays a whole partition at once. Returns how many groups there are; raises records.UnreadableRecord."""
    loading = Loading(coordinator, partition)
    try:
        for key, value in records:
            loading.apply(key, value)
    except Exception:
        loading.fail()
        raise
    return loading.finish(now_ms)


def unload(coordinator: GroupCoordinator, partition: int, now_ms: int) -> None:
    """Forgets a partition's groups, which another node coordinates now. Requests that wait hear NOT_COORDINATOR."""
    observer = coordinator.observer
    began_us = observer.measured_from_us()
    coordinator.shards.pop(partition, None)
    coordinator.abandon_appends(partition, now_ms)
    for transaction in [each for each in coordinator.open_transactions if each[0] == partition]:
        del coordinator.open_transactions[transaction]
    for group in [g for g in coordinator.groups.values() if g.partition == partition]:
        dissolve(group, ErrorCode.not_coordinator, Cause("coordinator_failover"), now_ms)
    if coordinator.consumer_groups:
        from kohort.coordinator.consumer.consumer_loading import unload_consumer_groups

        unload_consumer_groups(coordinator, partition)
    if coordinator.forgotten is not None:
        coordinator.forgotten.unload(partition)
    if coordinator.share_groups:
        from kohort.coordinator.share.share_loading import unload_share_groups

        unload_share_groups(coordinator, partition)
    if coordinator.streams_groups:
        from kohort.coordinator.streams.streams_loading import unload_streams_groups

        unload_streams_groups(coordinator, partition)
    observer.resigned(partition, began_us)


def _restore(group: ClassicGroup, value: GroupValue) -> None:
    """A group with members comes back Stable, at its generation. Their sessions are to be started yet.

    Lost are ids that were handed out, whatever waited, and the protocols that were not selected.
    """
    group.protocol_type = intern(value.protocol_type) or None
    group.protocol_name = value.protocol_name and intern(value.protocol_name)
    group.generation_id = value.generation_id
    group.state_timestamp_ms = value.state_timestamp_ms
    for kept in value.members:
        member = Member(
            kept.member_id,
            kept.group_instance_id,
            kept.client_id,
            kept.client_host,
            kept.session_timeout_ms if kept.rebalance_timeout_ms == -1 else kept.rebalance_timeout_ms,
            kept.session_timeout_ms,
            ((value.protocol_name or "", kept.subscription),),
            kept.assignment,
        )
        group.add(member, None)
    leader = group.members.get(value.leader_id or "")
    group.leader_id = value.leader_id if leader is None else leader.member_id  # one text for both
    if group.members:
        group.state = State.STABLE
    try:
        group.subscribed_topics = group.read_subscriptions()
    except ImpossibleLengthError:
        group.subscribed_topics = None
