"""What could not be written, and everything that builds on it, is taken back (consumer-groups §19).

Kafka's coordinator fails what was decided behind a failed write too, before it reaches the log. Here a later batch may
be in the log already, or still get there. Then its records are written over with what counts.
"""

from collections.abc import Iterable, Mapping

from kohort.coordinator.classic.group import ClassicGroup
from kohort.coordinator.classic.persisting import group_entry
from kohort.coordinator.consumer.changes import Changes, Record
from kohort.coordinator.consumer.group import ConsumerGroup
from kohort.coordinator.consumer.member import ConsumerMember
from kohort.coordinator.consumer.progress import keep_alive, watch_revocation
from kohort.coordinator.consumer.records import KINDS, read_change, value_of
from kohort.coordinator.consumer.states import MemberState
from kohort.coordinator.consumer.timers import stop_all
from kohort.coordinator.consumer.values import Change, GroupEpoch, Kind, TargetEpoch
from kohort.coordinator.effects import Cause
from kohort.coordinator.records import GroupKey, RecordReader, read_key
from kohort.protocol.errors import ErrorCode
from kohort.purgatory import DelayedOperation

REPAIR_AGAIN_AFTER_MS = 500
"""How long to wait before records are written over that could not be."""

_REPAIR = Cause("write_failed")
_DELETED = (Kind.CURRENT, Kind.TARGET, Kind.TARGET_EPOCH, Kind.MEMBER, Kind.REGEX, Kind.PARTITION_METADATA)
_WRITTEN = (Kind.MEMBER, Kind.GROUP_EPOCH, Kind.REGEX, Kind.TARGET, Kind.TARGET_EPOCH, Kind.CURRENT)
"""Orders in which Kafka reads what is deleted, and what is written."""


def take_back(group: ConsumerGroup, error: ErrorCode, now_ms: int) -> None:
    """The first batch under way has failed: all are taken back, the last one first, and all requests hear `error`."""
    failed = group.coordinator.unwritten.pop(group.group_id)
    for changes in reversed(failed):
        changes.taken_back = True
        changes.undo(now_ms)
    for changes in failed:
        changes.answer(error, now_ms)
    written = [key for changes in failed if changes.outcome is ErrorCode.none for key in changes.record_keys()]
    if written:
        repair(group, written, now_ms)


def resume_timers(group: ConsumerGroup, before: Mapping[str, ConsumerMember], now_ms: int) -> None:
    """Members that are back have their timers again, and members that are gone have none.

    `before`: those there were before something was taken back.
    """
    for member_id, member in before.items():
        if group.members.get(member_id) is not member:
            stop_all(group, member)
    if group.coordinator.consumer_groups.get(group.group_id) is not group:
        for member in group.members.values():
            stop_all(group, member)
        return
    for member in group.members.values():
        if member.session is None or member.session.completed:
            keep_alive(group, member, now_ms)
        if member.revocation is not None or member.current.state is MemberState.UNREVOKED_PARTITIONS:
            watch_revocation(group, member, now_ms)


def repair(group: ConsumerGroup, keys: Iterable[bytes], now_ms: int) -> None:
    """Writes what counts now under these keys, and goes on trying while this node coordinates the group."""
    coordinator = group.coordinator
    if coordinator.partition_availability(group.partition) is not ErrorCode.none:
        return
    keys = list(dict.fromkeys(keys))

    def written(error: ErrorCode, now_ms: int) -> None:
        if error is not ErrorCode.none and coordinator.partition_availability(group.partition) is ErrorCode.none:
            coordinator.purgatory.wait(_Repair(now_ms + REPAIR_AGAIN_AFTER_MS, group, keys))

    changes = Changes(group)
    changes.write_last(_as_it_is(group, keys))
    changes.write(now_ms, _REPAIR, written)


class _Repair(DelayedOperation):
    """Tries once more."""

    __slots__ = ("_group", "_record_keys")

    def __init__(self, deadline_ms: int, group: ConsumerGroup, keys: list[bytes]) -> None:
        super().__init__(deadline_ms)
        self._group = group
        self._record_keys = keys

    def on_complete(self, now_ms: int, *, expired: bool) -> None:
        """Always by its deadline."""
        repair(self._group, self._record_keys, now_ms)


def _as_it_is(group: ConsumerGroup, keys: Iterable[bytes]) -> list[Record]:
    """What the coordinator holds under each key now: of the group itself, or of the one that has its id."""
    coordinator, group_id = group.coordinator, group.group_id
    live = coordinator.consumer_groups.get(group_id)
    deleted: list[tuple[int, Record]] = []
    written: list[tuple[int, Record]] = []
    classic: list[Record] = []
    for key in keys:
        if isinstance(read_key(key), GroupKey):
            classic.append((key, _classic_value(coordinator.groups.get(group_id))))
            continue
        reader = RecordReader(key)
        kind = reader.int16()
        if kind not in KINDS:
            continue  # an offset
        _, change = read_change(kind, reader, None)
        value = None if live is None else _value(live, change)
        if value is not None:
            written.append((_WRITTEN.index(change.kind), (key, value_of(change._replace(value=value)))))
        else:
            order = _DELETED.index(change.kind) if change.kind in _DELETED else len(_DELETED)
            deleted.append((order, (key, None)))
    return [*(record for _, record in sorted(deleted)), *(record for _, record in sorted(written)), *classic]


def _value(group: ConsumerGroup, change: Change) -> object:
    name = change.name or ""
    member = group.members.get(name)
    match change.kind:
        case Kind.GROUP_EPOCH:
            return GroupEpoch(group.epoch, group.metadata_hash)
        case Kind.TARGET_EPOCH:
            return TargetEpoch(group.target_epoch, group.target_timestamp_ms)
        case Kind.MEMBER:
            return None if member is None else member.metadata
        case Kind.CURRENT:
            return None if member is None else member.current
        case Kind.TARGET:
            return group.targets.get(name)
        case Kind.REGEX:
            return group.regexes.get(name)
    return None


def _classic_value(group: ClassicGroup | None) -> bytes | None:
    return None if group is None or group.is_simple else group_entry(group)[1]
