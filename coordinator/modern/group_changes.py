"""The changes that one request makes to a group: applied at once, written as one batch, undone if the write fails.

As in Kafka, later requests see changes that are not written yet, and build on them (consumer-groups §19). They are
written afterwards, and fail if the earlier write fails (`WriteQueue`). Hence no request is answered before everything
that it depends on is written.
"""

from collections.abc import Callable, Iterable, Mapping
from enum import IntEnum
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from mypy_extensions import mypyc_attr

from kohort.coordinator.context import OnWritten
from kohort.coordinator.effects import Append, Cause, Transition
from kohort.coordinator.groups.group_host import GroupHost
from kohort.coordinator.modern.modern_group import ModernGroup
from kohort.coordinator.modern.modern_values import Change, Record, TargetEpoch
from kohort.protocol.batches import EncodedRecords, encode_record
from kohort.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from kohort.coordinator.classic.classic_group import ClassicGroup

# Maximum size of a batch with the changes of several requests. The changes of one request are never split.
MAX_BATCH_BYTES: Final = 64 * 1024

_NONE: Final = ErrorCode.none


class Conversion(NamedTuple):
    """A change of a group's type from or to classic, for the event source."""

    classic: "ClassicGroup"  # the classic group before or after the conversion
    from_protocol: str
    to_protocol: str
    members: int
    carried_over: int  # number of changes that only repeat the previous state


@mypyc_attr(allow_interpreted_subclasses=True)
class GroupChanges:
    """The records of one request, in order."""

    __slots__ = (
        "_before_values",
        "_changes",
        "_first",
        "_last",
        "_on_written",
        "_undos",
        "assignor_us",
        "converts",
        "creates",
        "epoch_cause",
        "from_state",
        "group",
        "last_offset",
        "leaving",
        "replaces",
        "ticket",
    )

    def __init__(self, group: ModernGroup) -> None:
        self.group = group
        self._changes: list[Change] = []
        self._before_values: list[object] = []
        self._first: list[Record] = []  # records of other types, written before the changes
        self._last: list[Record] = []  # records of other types, written after the changes
        self._undos: list[Callable[[int], None]] = []
        self._on_written: list[OnWritten] = []
        self.from_state = group.state  # the group's state before the request
        self.last_offset: int | None = None  # offset of the last record once it is written, if the log reported it
        self.creates = False  # whether the group is new
        self.replaces = False  # whether the group replaces one of another type
        self.converts: Conversion | None = None  # change of the group's type, if it is part of the changes
        self.leaving: Iterable[Any] = ()  # members that a conversion removes without changes of their own
        self.epoch_cause = ""  # why the group epoch changed, unless that is the subject of the request
        self.assignor_us = 0  # duration of the assignor, if there is an observer
        self.ticket: object | None = None  # ticket of the request, if a member sent it for itself

    def __bool__(self) -> bool:
        return bool(self._changes or self._first or self._last)

    def create(self) -> None:
        """Add the group. A failed write removes it again."""
        self.creates = True
        self.group.appear()
        self.on_undo(lambda now_ms: self.group.vanish())

    def make(self, kind: IntEnum, name: str | None, value: object) -> None:
        change = Change(kind, name, value)
        self._changes.append(change)
        self._before_values.append(self.group.apply(change))

    # Epochs of the group

    def bump(self) -> None:
        """Give the group a new epoch."""
        self.make(self.group.kinds.GROUP_EPOCH, None, self.group.next_epoch())

    def bump_after_removal(self) -> None:
        """Give the group a new epoch after members were removed.

        As of Kafka 4.4 a group without members gets a target of that epoch, too (newer-release §3 rule 4).
        """
        self.bump()
        group = self.group
        if not group.members and group.coordinator.settings.rules.raises_target_epoch_of_empty_groups:
            self.make(group.kinds.TARGET_EPOCH, None, TargetEpoch(group.epoch))

    def notice_topics(self) -> bool:
        """Give the group a new epoch if the topics that it reads have changed. Return whether they were checked.

        Kafka checks them when a subscribed topic has changed, and once after a load (`onMetadataUpdate`,
        `hasMetadataExpired`). Other topics change nothing.
        """
        group = self.group
        version = group.coordinator.topics.version
        if group.checked_version == version:
            return False
        was_checked = group.checked_version is not None
        group.checked_version = version
        if group.current_hash() != group.metadata_hash:
            self.bump()
            self.epoch_cause = "topic_metadata_changed"
            return True
        return not was_checked

    def set_targets(self, targets: Mapping[str, Any], now_ms: int) -> None:
        """Set the targets for the epoch of the group, with a record for each member whose target changes."""
        group = self.group
        kind = group.kinds.TARGET
        for member_id, target in targets.items():
            old_target = group.targets.get(member_id)
            if target is not old_target and target != old_target:
                self.make(kind, member_id, target)
        self.make(group.kinds.TARGET_EPOCH, None, TargetEpoch(group.epoch, group.coordinator.wall_ms(now_ms)))

    @property
    def applied(self) -> list[tuple[Change, object]]:
        """The changes and the values that they replaced."""
        return list(zip(self._changes, self._before_values, strict=True))

    def offset_of(self, number: int) -> int | None:
        """Return the offset of the record of a change, or None if it is unknown."""
        records_after = len(self._changes) + len(self._last) - number - 1
        return None if self.last_offset is None else self.last_offset - records_after

    def delete_first(self, key: bytes) -> None:
        """Delete a record of another type before the changes, for example that of the group which this one replaces."""
        self._first.append((key, None))

    def write_last(self, records: Iterable[Record]) -> None:
        """Write records of another group after the changes, for example those of the group that replaces this one."""
        self._last += records

    def on_undo(self, undo: Callable[[int], None]) -> None:
        self._undos.append(undo)

    def abandon(self, now_ms: int) -> None:
        """Roll back all changes before they are written."""
        self.undo(now_ms)

    def write(self, now_ms: int, cause: Cause, on_written: OnWritten) -> None:
        """Write all changes as one unit.

        Without anything to write, `on_written` is called after the previous write of the group.
        """
        group, unwritten = self.group, self.group.coordinator.unwritten
        writes = unwritten.get(group.group_id)
        if not self:
            if writes is not None:
                writes.last.add_callback(on_written)
            else:
                on_written(_NONE, now_ms)
            return
        report = group.coordinator.observer.changed(self, cause)
        if report is not None:
            self.add_callback(report)
        self.add_callback(on_written)
        if writes is None:
            unwritten[group.group_id] = WriteQueue(group.coordinator, self, now_ms)
        else:
            writes.add(self)
        self._report(cause)

    def add_callback(self, on_written: OnWritten) -> None:
        self._on_written.append(on_written)

    def records(self) -> list[Record]:
        return [*self._first, *map(self.group.record_of, self._changes), *self._last]

    def encoded(self, at: int) -> bytes:
        """Encode the records for a batch in which the first of them has the index `at`."""
        records = [encode_record(key, value, position) for position, (key, value) in enumerate(self.records(), at)]
        return b"".join(records)

    @property
    def record_count(self) -> int:
        return len(self._first) + len(self._changes) + len(self._last)

    def answer(self, error: ErrorCode, now_ms: int) -> None:
        if error is _NONE:
            self.group.on_written()
        for on_written in self._on_written:
            on_written(error, now_ms)

    def undo(self, now_ms: int) -> None:
        """Restore the group and its timers. Later changes must have been undone already."""
        if not self._changes and not self._undos:
            return
        group = self.group
        members = dict(group.members)
        for change, old_value in zip(reversed(self._changes), reversed(self._before_values), strict=True):
            group.apply(change._replace(value=old_value))
        group.checked_version = None
        for undo in reversed(self._undos):
            undo(now_ms)
        from kohort.coordinator.modern.membership import resume_timers  # rarely needed

        resume_timers(group, members, now_ms)
        group.coordinator.observer.taken_back(group)

    def _report(self, cause: Cause) -> None:
        group = self.group
        old_state, state = self.from_state, group.state
        if state is not old_state:
            names = old_state.value, state.value
            members = len(group.members)
            transition = Transition(group.group_id, group.partition, *names, group.epoch, members, cause)
            group.coordinator.effects.append(transition)


class WriteQueue:
    """The batch in progress and the changes behind it, in order. A group without unwritten changes has no queue.

    One batch is written at a time. Changes made meanwhile wait for the next batch: they build on the first one, and
    must not be in the log without it. If a batch cannot be written, everything behind it is undone without being
    written, as in Kafka's `CoordinatorRuntime`.
    """

    __slots__ = ("_behind", "_coordinator", "_under_way", "last")

    def __init__(self, coordinator: GroupHost, changes: GroupChanges, now_ms: int) -> None:
        self.last = changes  # the latest changes of the group
        self._coordinator = coordinator
        self._under_way: list[GroupChanges] = []
        self._behind: list[GroupChanges | Append] = [changes]
        self._write_next(now_ms)

    def add(self, changes: GroupChanges) -> None:
        self.last = changes
        self._behind.append(changes)

    def put_behind(self, append: Append) -> None:
        """Queue another record, for example that of a classic group that has replaced this group.

        It is written after the changes before it, and fails if they fail.
        """
        self._behind.append(append)

    def _write_next(self, now_ms: int) -> None:
        """Write the next batch. The queue does not wait for other records, because nothing builds on them."""
        coordinator, behind = self._coordinator, self._behind
        while behind and isinstance(behind[0], Append):
            coordinator.effects.append(behind.pop(0))  # type: ignore[arg-type]
        if not behind:
            del coordinator.unwritten[self.last.group.group_id]
            return
        partition = self.last.group.partition
        coordinator.append(partition, self._next_batch(), now_ms, self._on_written)

    def _next_batch(self) -> EncodedRecords:
        body, count = b"", 0
        while self._behind and not isinstance(changes := self._behind[0], Append):
            more = changes.encoded(count)
            if self._under_way and len(body) + len(more) > MAX_BATCH_BYTES:
                break
            body += more
            count += changes.record_count
            self._under_way.append(changes)
            del self._behind[0]
        return EncodedRecords(body, count)

    def _on_written(self, error: ErrorCode, now_ms: int) -> None:
        if error is not _NONE:
            self._fail(error, now_ms)
            return
        written, self._under_way = self._under_way, []
        last_offset = self._coordinator.appended_offset
        for changes in reversed(written):
            changes.last_offset = last_offset
            last_offset = None if last_offset is None else last_offset - changes.record_count
        self._write_next(now_ms)
        for changes in written:
            changes.answer(error, now_ms)

    def _fail(self, error: ErrorCode, now_ms: int) -> None:
        coordinator = self._coordinator
        failed = [*self._under_way, *self._behind]
        del coordinator.unwritten[self.last.group.group_id]
        for entry in reversed(failed):
            if not isinstance(entry, Append):
                entry.undo(now_ms)
        for entry in failed:
            if isinstance(entry, Append):
                coordinator.conclude(entry.token, error, now_ms)
            else:
                entry.answer(error, now_ms)
