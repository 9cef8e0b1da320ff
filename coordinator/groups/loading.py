"""Loading and unloading of a partition's groups (classic-groups §1.5, §1.6)."""

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
from kohort.coordinator.groups.group import Group
from kohort.coordinator.groups.group_types import MODERN_TYPES, GroupType, import_code
from kohort.coordinator.offsets.offsets import CommittedOffset, GroupOffsets
from kohort.coordinator.offsets.offsets_topic_records import (
    GroupKey,
    GroupValue,
    OffsetKey,
    offset_key,
    read_group_value,
    read_key,
)
from kohort.coordinator.offsets.pending_offsets import PendingOffsets
from kohort.protocol.batch_layouts import BatchLayouts
from kohort.protocol.batches import CONTROL, TRANSACTIONAL, BatchInfo, Pair, keys_and_values, read_marker
from kohort.protocol.consumer_protocol import ImpossibleLengthError
from kohort.protocol.errors import ErrorCode
from kohort.protocol.records.record_reader import RecordReader
from kohort.protocol.records.schema import RecordError

if TYPE_CHECKING:
    from kohort.coordinator.modern.modern_loading import ModernLoading

_INT = Struct(">i")

TYPES_BY_RECORD = {record_type: group_type for group_type in MODERN_TYPES for record_type in group_type.record_types}

COMMITS_AT_ONCE = 500  # maximum number of commits decoded in a step: a millisecond
GROUPS_AT_ONCE = 20  # maximum number of groups prepared in a step: a millisecond


class PendingTransaction:
    """Records of an open transaction: position and value by key. A superseded record has the value None."""

    __slots__ = ("values",)

    def __init__(self) -> None:
        self.values: dict[bytes, tuple[int, bytes | None]] = {}

    def take(self, records: Iterable[tuple[bytes | None, bytes | None]], order: int) -> None:
        """Add the records of a batch, which follow `order` other records. Raises RecordError."""
        for number, (key, value) in enumerate(records, order):
            if key is None:
                raise RecordError("a record without a key")
            self.values[key] = number, value


class Loading:
    """The replay of one partition. Until it has finished, requests for its groups receive COORDINATOR_LOAD_IN_PROGRESS.

    A consumer's commits have the same keys repeatedly, so they are collected as bytes by key, and only the last value
    of each is decoded. A value that a later one replaces is not checked; compaction would have removed it.
    """

    loads: ClassVar[str] = "groups"

    def __init__(self, coordinator: GroupCoordinator, partition: int) -> None:
        self._coordinator = coordinator
        self._partition = partition
        self._groups: dict[str, GroupValue] = {}
        # groups of the newer protocols by type, created with the first record of such a group
        self._modern: dict[str, ModernLoading] = {}
        self._offsets: dict[str, GroupOffsets] = {}
        # A group's offsets of a topic, by key without the last four bytes, which are the partition.
        self._offsets_by_key: dict[bytes, dict[int, CommittedOffset]] = {}
        self._commits: dict[bytes, bytes | None] = {}  # last values by key that are not in `_offsets` yet; None deletes
        self._layouts = BatchLayouts()
        self._undecoded: Iterator[tuple[bytes, bytes | None]] | None = None
        self._open: dict[int, PendingTransaction] = {}  # records of transactions that have not ended, by producer id
        # Groups created from these values, not yet visible to requests.
        self._prepared: dict[str, tuple[GroupValue, ClassicGroup]] = {}
        self._unprepared: Iterator[tuple[str, GroupValue]] | None = None
        self.records = 0  # number of applied records, for the report of the load
        coordinator.shards[partition] = Shard.LOADING
        self._began_us = coordinator.observer.measured_from_us()

    def apply_batch(self, data: bytes | memoryview, batch: BatchInfo) -> None:
        """Apply the records of a batch in `data`; those of a transaction are applied when its marker follows.

        Raises:
            DecodeError: The bytes are not a batch. Also RecordError.
        """
        if batch.attributes & CONTROL:
            self._end_transaction(data, batch)
            return
        if batch.attributes & TRANSACTIONAL:
            transaction = self._open.setdefault(batch.producer_id, PendingTransaction())
            transaction.take(keys_and_values(data, batch), self.records)
            self.records += batch.record_count
            return
        usual = self._layouts.read(data, batch)
        commits, topics = ({}, {}) if self._open else (self._commits, self._offsets_by_key)
        if usual is not None and all(map(commits.__contains__, usual[0])):
            commits.update(zip(*usual, strict=True))  # nearly all records are commits of earlier keys
            self.records += batch.record_count
            return
        commit_count = 0
        pairs: Iterable[Pair] = keys_and_values(data, batch) if usual is None else zip(*usual, strict=True)
        for key, value in pairs:
            if key is None:
                raise RecordError("a record without a key")
            if key in commits or key[: -_INT.size] in topics:
                commits[key] = value
                commit_count += 1
            else:
                self.apply(key, value)
        self.records += commit_count

    def apply(self, key: bytes, value: bytes | None, order: int | None = None) -> None:
        """Apply the next record. A later one with the same key replaces it, and one without a value deletes it.

        Records of unknown types are skipped. Raises RecordError.

        Args:
            order: Original position of a record whose transaction has ended now.
        """
        if self._open:
            self._overtake(key, self.records if order is None else order, deleted=value is None)
        self.records += 1
        if key[: -_INT.size] in self._offsets_by_key:
            self._commits[key] = value
            return
        match read_key(key):
            case OffsetKey(group_id, topic, partition):
                offsets = self._offsets.get(group_id)
                if offsets is None:
                    offsets = self._offsets[group_id] = GroupOffsets()
                key = offset_key(group_id, topic, partition)  # of the current version, whatever the record's
                self._offsets_by_key[key[: -_INT.size]] = offsets.topics.setdefault(intern(topic), {})
                self._commits[key] = value
            case GroupKey(group_id):
                self._apply_to_classic_group(group_id, value)
            case None:
                reader = RecordReader(key)
                record_type = reader.int16()
                group_type = TYPES_BY_RECORD.get(record_type)
                if group_type is not None:
                    self._apply_to_modern_group(group_type, record_type, reader, value)

    def _apply_to_modern_group(
        self, group_type: GroupType, record_type: int, reader: RecordReader, value: bytes | None
    ) -> None:
        loading = self._modern.get(group_type.name)
        if loading is None:
            from kohort.coordinator.modern.modern_loading import ModernLoading  # not for logs without such groups

            loading = ModernLoading(self._coordinator, self._partition, import_code(group_type.group_class))
            self._modern[group_type.name] = loading
        loading.apply(record_type, reader, value)

    def _apply_to_classic_group(self, group_id: str, value: bytes | None) -> None:
        """Replace a group of another type, whose deletion may not have been written (forgotten_groups.py)."""
        for loading in self._modern.values():
            if loading.keeps_offsets:
                loading.groups.pop(group_id, None)
        if value is not None:
            self._groups[group_id] = read_group_value(value)
        else:
            self._groups.pop(group_id, None)

    def _overtake(self, key: bytes, order: int, *, deleted: bool) -> None:
        """Remove older values of the key from open transactions; after a deletion, also their keys."""
        for producer_id, transaction in list(self._open.items()):
            older = transaction.values.get(key)
            if older is None or older[0] >= order:
                continue
            if not deleted:
                transaction.values[key] = older[0], None
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

    def _decode(self, commits: Iterable[tuple[bytes, bytes | None]]) -> None:
        """Move collected commits to the offsets of their groups."""
        for key, value in commits:
            partitions = self._offsets_by_key[key[: -_INT.size]]
            (partition,) = _INT.unpack_from(key, len(key) - _INT.size)
            if value is None:
                partitions.pop(partition, None)
                continue
            try:
                partitions[partition] = CommittedOffset.read(value)
            except RecordError as error:
                raise RecordError(f"{read_key(key)}: {error}") from error

    def prepare(self, now_ms: int) -> bool:
        """Decode some commits or create some groups, before `finish` starts their sessions. Return whether more remain.

        If a later record changes a group, `finish` creates it again.
        """
        if self._undecoded is None:
            self._undecoded, self._commits = iter(self._commits.items()), {}
        commits = list(islice(self._undecoded, COMMITS_AT_ONCE))
        self._decode(commits)
        if len(commits) == COMMITS_AT_ONCE:
            return True
        if self._unprepared is None:
            self._unprepared = iter(list(self._groups.items()))
        chunk = list(islice(self._unprepared, GROUPS_AT_ONCE))
        for group_id, value in chunk:
            group = self._new_group(group_id, now_ms)
            _restore(group, value)
            self._prepared[group_id] = value, group
        return len(chunk) == GROUPS_AT_ONCE

    def _new_group(self, group_id: str, now_ms: int) -> ClassicGroup:
        coordinator = self._coordinator
        return ClassicGroup(coordinator, group_id, coordinator.partition_of(group_id), coordinator.wall_ms(now_ms))

    def finish(self, now_ms: int) -> int:
        """Start to serve the groups, and return their number. Raises RecordError, before it serves any."""
        self._decode(self._undecoded or ())
        self._decode(self._commits.items())
        self._offsets_by_key.clear()
        for offsets in self._offsets.values():
            offsets.forget_empty_topics()
        pending = self._pending()
        coordinator = self._coordinator
        coordinator.shards[self._partition] = Shard.ACTIVE
        loaded = (
            self._groups.keys() | pending.keys() | {group_id for group_id, offsets in self._offsets.items() if offsets}
        )
        groups: list[ClassicGroup] = []
        modern = self._finish_modern(pending, now_ms)
        modern_ids = {group.group_id for group in modern}
        for group_id in sorted(loaded - modern_ids):
            value = self._groups.get(group_id)
            prepared_value, group = self._prepared.get(group_id) or (None, None)
            if group is None or prepared_value is not value:
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
        """Start to serve the groups of the newer protocols.

        Return them, two with the same id if both are in the log.
        """
        groups: list[Group] = []
        for group_type in MODERN_TYPES:
            loading = self._modern.get(group_type.name)
            if loading is None:
                continue
            if loading.keeps_offsets:
                for group in loading.groups.values():
                    self._give_offsets(group, pending)
            loading.finish(now_ms)
            groups += loading.groups.values()
        return groups

    def _give_offsets(self, group: Group, pending: dict[str, PendingOffsets]) -> None:
        group.offsets = self._offsets.get(group.group_id)
        group.pending_offsets = pending.get(group.group_id)
        for producer_id in group.pending_offsets.producers if group.pending_offsets is not None else ():
            open_groups = self._coordinator.open_transactions.setdefault((self._partition, producer_id), set())
            open_groups.add(group.group_id)

    def _pending(self) -> dict[str, PendingOffsets]:
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
                committed = None if value is None else CommittedOffset.read(value)
                offsets.put(producer_id, (name.topic, name.partition), committed)
        return pending

    def fail(self) -> None:
        """Remove the partition: its records cannot be read, or another node leads it."""
        self._coordinator.shards.pop(self._partition, None)


def load(
    coordinator: GroupCoordinator, partition: int, records: Iterable[tuple[bytes, bytes | None]], now_ms: int
) -> int:
    """Load all records of a partition. Return the number of groups. Raises RecordError."""
    loading = Loading(coordinator, partition)
    try:
        for key, value in records:
            loading.apply(key, value)
        return loading.finish(now_ms)
    except Exception:
        loading.fail()
        raise


def unload(coordinator: GroupCoordinator, partition: int, now_ms: int) -> None:
    """Remove the groups of a partition that this node no longer leads. Waiting requests receive NOT_COORDINATOR."""
    observer = coordinator.observer
    began_us = observer.measured_from_us()
    coordinator.shards.pop(partition, None)
    coordinator.abandon_appends(partition, now_ms)
    for transaction in [key for key in coordinator.open_transactions if key[0] == partition]:
        del coordinator.open_transactions[transaction]
    for group in [g for g in coordinator.groups.values() if isinstance(g, ClassicGroup) and g.partition == partition]:
        dissolve(group, ErrorCode.not_coordinator, Cause("coordinator_failover"), now_ms)
    if coordinator.forgotten is not None:
        coordinator.forgotten.unload(partition)
    for group_type in MODERN_TYPES:
        if coordinator.of_type(group_type.name):
            from kohort.coordinator.modern.modern_loading import unload_groups  # not for brokers without such groups

            unload_groups(coordinator, group_type.name, partition)
    observer.resigned(partition, began_us)


def _restore(group: ClassicGroup, value: GroupValue) -> None:
    """Restore a group from its record, in state Stable if it has members. The caller starts their sessions.

    Issued member ids, waiting requests and protocols that were not selected are lost.
    """
    group.protocol_type = intern(value.protocol_type) or None
    group.protocol_name = value.protocol_name and intern(value.protocol_name)
    group.generation_id = value.generation_id
    group.state_timestamp_ms = value.state_timestamp_ms
    for stored in value.members:
        member = Member(
            stored.member_id,
            stored.group_instance_id,
            stored.client_id,
            stored.client_host,
            stored.session_timeout_ms if stored.rebalance_timeout_ms == -1 else stored.rebalance_timeout_ms,
            stored.session_timeout_ms,
            ((value.protocol_name or "", stored.subscription),),
            stored.assignment,
        )
        group.add(member, None)
    leader = group.members.get(value.leader_id or "")
    group.leader_id = value.leader_id if leader is None else leader.member_id  # a shared string
    if group.members:
        group.state = State.STABLE
    try:
        group.subscribed_topics = group.read_subscriptions()
    except ImpossibleLengthError:
        group.subscribed_topics = None
