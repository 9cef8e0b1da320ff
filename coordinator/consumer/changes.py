"""What one request changes in a consumer group: applied at once, written as one batch, undone if that fails.

Later requests see what is not written yet, as in Kafka (consumer-groups §19). If a batch cannot be written, its changes
are taken back and those of later ones are made again on top of what is left.
"""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from kohort.coordinator.consumer.records import key_of, value_of
from kohort.coordinator.consumer.values import Change, Kind
from kohort.coordinator.context import OnWritten
from kohort.coordinator.effects import Cause, Transition
from kohort.protocol.batches import EncodedRecords, encode_record
from kohort.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from kohort.coordinator.consumer.group import ConsumerGroup

Record = tuple[bytes, bytes | None]
"""Key and value; None deletes."""


class Changes:
    """The records of one request, in order."""

    __slots__ = (
        "_before",
        "_changes",
        "_dones",
        "_first",
        "_from_state",
        "_last",
        "_settled",
        "_undos",
        "group",
        "token",
    )

    def __init__(self, group: "ConsumerGroup") -> None:
        self.group = group
        self.token: int | None = None
        """The token of the `Append`; None: nothing was written."""
        self._changes: list[Change] = []
        self._before: list[object] = []
        self._first: list[Record] = []
        """Records of another kind that come first."""
        self._last: list[Record] = []
        """Records of another kind that come last."""
        self._undos: list[Callable[[], None]] = []
        self._dones: list[Callable[[int], None]] = []
        self._from_state = group.state.value
        self._settled = False
        """Whether it is decided if it is written."""

    def __bool__(self) -> bool:
        return bool(self._changes or self._first or self._last)

    def make(self, kind: Kind, name: str | None, value: object) -> None:
        """One change; it counts at once."""
        change = Change(kind, name, value)
        self._changes.append(change)
        self._before.append(self.group.apply(change))

    def delete_first(self, key: bytes) -> None:
        """Deletes a record of another kind first of all, for example that of the group which this one replaces."""
        self._first.append((key, None))

    def write_last(self, records: Iterable[Record]) -> None:
        """Writes records that are no changes of this group last of all, for example those of the one replacing it."""
        self._last += records

    def on_done(self, done: Callable[[int], None]) -> None:
        """Has `done` called with the time when all this is written, before whoever waits is answered."""
        self._dones.append(done)

    def on_undo(self, undo: Callable[[], None]) -> None:
        """Has `undo` called when all this is taken back."""
        self._undos.append(undo)

    def abandon(self) -> None:
        """Takes everything back before it was written."""
        self._undo()
        for undo in self._undos:
            undo()

    def write(self, now_ms: int, cause: Cause, on_written: OnWritten) -> None:
        """Writes everything as one batch. Without anything to write, `on_written` follows the write before this one."""
        group, coordinator = self.group, self.group.coordinator
        if not self:
            self._follow(now_ms, on_written)
            return
        own = [(key_of(group.group_id, change.kind, change.name), value_of(change)) for change in self._changes]
        bodies = [
            encode_record(key, value, position)
            for position, (key, value) in enumerate((*self._first, *own, *self._last))
        ]
        group.in_flight.append(self)

        def written(error: ErrorCode, now_ms: int) -> None:
            self._settled = True
            if error is not ErrorCode.none:
                _take_back(group, self)
            else:
                for done in self._dones:
                    done(now_ms)
            while group.in_flight and group.in_flight[0]._settled:
                del group.in_flight[0]
            on_written(error, now_ms)

        self.token = coordinator.append(group.partition, EncodedRecords(b"".join(bodies), len(bodies)), now_ms, written)
        self._report(cause)

    def _follow(self, now_ms: int, on_written: OnWritten) -> None:
        last = self.group.in_flight[-1].token if self.group.in_flight else None
        if last is None:
            on_written(ErrorCode.none, now_ms)
        else:
            self.group.coordinator.after(last, on_written)

    def _report(self, cause: Cause) -> None:
        group = self.group
        state = group.state.value
        if state != self._from_state:
            group.coordinator.effects.append(
                Transition(
                    group.group_id, group.partition, self._from_state, state, group.epoch, len(group.members), cause
                )
            )

    def _undo(self) -> None:
        for change, before in zip(reversed(self._changes), reversed(self._before), strict=True):
            self.group.apply(change._replace(value=before))

    def _redo(self) -> None:
        self._before = [self.group.apply(change) for change in self._changes]


def _take_back(group: "ConsumerGroup", failed: Changes) -> None:
    """As if `failed` had never been: what came behind it is made again on top of what was before."""
    position = group.in_flight.index(failed)
    later = group.in_flight[position + 1 :]
    for changes in reversed(group.in_flight[position:]):
        changes._undo()
    del group.in_flight[position]
    for changes in later:
        changes._redo()
    for undo in failed._undos:
        undo()
