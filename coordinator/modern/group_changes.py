"""What one request changes in a group: applied at once, written as one batch, taken back if that fails.

Later requests see what is not written yet, as in Kafka (consumer-groups §19), and build on it. They are written behind
it, and fail with it (`writing.py`). So nobody is answered before what came before it is written.
"""

from collections.abc import Callable, Iterable
from enum import IntEnum
from typing import TYPE_CHECKING

from mypy_extensions import mypyc_attr

from kohort.coordinator.context import OnWritten
from kohort.coordinator.effects import Cause, Transition
from kohort.coordinator.modern.modern_values import Change, Record
from kohort.coordinator.modern.writing import WriteQueue
from kohort.protocol.batches import encode_record
from kohort.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from kohort.coordinator.modern.modern_group import ModernGroup


@mypyc_attr(allow_interpreted_subclasses=True)
class GroupChanges:
    """The records of one request, in order."""

    __slots__ = (
        "_before",
        "_changes",
        "_first",
        "_last",
        "_on_written",
        "_undos",
        "assignor_us",
        "creates",
        "epoch_cause",
        "from_state",
        "group",
        "last_offset",
        "replaces",
        "ticket",
    )

    def __init__(self, group: "ModernGroup") -> None:
        self.group = group
        self._changes: list[Change] = []
        self._before: list[object] = []
        self._first: list[Record] = []
        """Records of another kind that come first."""
        self._last: list[Record] = []
        """Records of another kind that come last."""
        self._undos: list[Callable[[int], None]] = []
        self._on_written: list[OnWritten] = []
        self.from_state = group.state
        """The group's state before."""
        self.last_offset: int | None = None
        """Where the last record stands in the log, once it is written, if the shell reported it."""
        self.creates = False
        """Whether the group is new."""
        self.replaces = False
        """Whether it is in the place of one of another kind."""
        self.epoch_cause = ""
        """Why the group has another epoch, where it is not what the request is about."""
        self.assignor_us = 0
        """How long the assignor took, if somebody listens."""
        self.ticket: object | None = None
        """The request's, if a member has sent it for itself."""

    def __bool__(self) -> bool:
        return bool(self._changes or self._first or self._last)

    def make(self, kind: IntEnum, name: str | None, value: object) -> None:
        """One change; it counts at once."""
        change = Change(kind, name, value)
        self._changes.append(change)
        self._before.append(self.group.apply(change))

    @property
    def made(self) -> list[tuple[Change, object]]:
        """The changes, and the values that they replaced."""
        return list(zip(self._changes, self._before, strict=True))

    def offset_of(self, number: int) -> int | None:
        """Where the record of a change stands in the log; None: not known."""
        behind = len(self._changes) + len(self._last) - number - 1
        return None if self.last_offset is None else self.last_offset - behind

    def delete_first(self, key: bytes) -> None:
        """Deletes a record of another kind first of all, for example that of the group which this one replaces."""
        self._first.append((key, None))

    def write_last(self, records: Iterable[Record]) -> None:
        """Writes records that are no changes of this group last of all, for example those of the one replacing it."""
        self._last += records

    def on_undo(self, undo: Callable[[int], None]) -> None:
        """Has `undo` called with the time when all this is taken back."""
        self._undos.append(undo)

    def abandon(self, now_ms: int) -> None:
        """Takes everything back before it was written."""
        self.undo(now_ms)

    def write(self, now_ms: int, cause: Cause, on_written: OnWritten) -> None:
        """Has all written as a whole. Without anything to write, `on_written` follows the write before this one."""
        group, unwritten = self.group, self.group.coordinator.unwritten
        writes = unwritten.get(group.group_id)
        if not self:
            if writes is not None:
                writes.last.then(on_written)
            else:
                on_written(ErrorCode.none, now_ms)
            return
        report = group.changed(self, cause)
        if report is not None:
            self.then(report)
        self.then(on_written)
        if writes is None:
            unwritten[group.group_id] = WriteQueue(group.coordinator, self, now_ms)
        else:
            writes.add(self)
        self._report(cause)

    def then(self, on_written: OnWritten) -> None:
        """Calls `on_written`, too, when this is written or cannot be."""
        self._on_written.append(on_written)

    def records(self) -> list[Record]:
        """In the order in which they are written."""
        return [*self._first, *map(self.group.record_of, self._changes), *self._last]

    def encoded(self, at: int) -> list[bytes]:
        """Its records as they are in a batch, the first of them as the batch's `at`-th."""
        return [encode_record(key, value, position) for position, (key, value) in enumerate(self.records(), at)]

    @property
    def record_count(self) -> int:
        """How many records it has."""
        return len(self._first) + len(self._changes) + len(self._last)

    def answer(self, error: ErrorCode, now_ms: int) -> None:
        """Lets everybody go on who waits for this."""
        for on_written in self._on_written:
            on_written(error, now_ms)

    def undo(self, now_ms: int) -> None:
        """Makes the group what it was before, its timers too. What came behind has been taken back already."""
        if not self._changes and not self._undos:
            return
        group = self.group
        members = dict(group.members)
        for change, before in zip(reversed(self._changes), reversed(self._before), strict=True):
            group.apply(change._replace(value=before))
        group.checked_version = None
        for undo in reversed(self._undos):
            undo(now_ms)
        group.taken_back(members, now_ms)

    def _report(self, cause: Cause) -> None:
        group = self.group
        before, state = self.from_state, group.state
        if state is not before:
            names = before.value, state.value
            members = len(group.members)
            transition = Transition(group.group_id, group.partition, *names, group.epoch, members, cause)
            group.coordinator.effects.append(transition)
