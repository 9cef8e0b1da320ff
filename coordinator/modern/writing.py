"""What a group of a newer protocol has decided, on its way into the log (consumer-groups §19).

One batch is under way at a time. What is decided meanwhile waits, and is the next batch: it builds on the first one,
and must not be in the log without it. If a batch cannot be written, everything behind it is taken back before it was
written, as in Kafka's `CoordinatorRuntime`.
"""

from typing import TYPE_CHECKING, Protocol

from kohort.coordinator.context import OnWritten
from kohort.coordinator.effects import Append
from kohort.coordinator.group import Group
from kohort.protocol.batches import EncodedRecords
from kohort.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from kohort.coordinator.modern.modern_host import ModernHost

MOST_BYTES = 64 * 1024
"""How much of several requests is written as one batch. What a single request changes is never divided."""


class Batch(Protocol):
    """What is written as a whole: the changes of one request (`group_changes.py`)."""

    last_offset: int | None

    @property
    def group(self) -> Group:
        """Whose changes they are."""
        ...

    @property
    def record_count(self) -> int:
        """How many records it has."""
        ...

    def encoded(self, at: int) -> list[bytes]:
        """Its records as they are in a batch, in order, the first of them as the batch's `at`-th."""
        ...

    def then(self, on_written: OnWritten) -> None:
        """Calls `on_written`, too, when this is written or cannot be."""
        ...

    def answer(self, error: ErrorCode, now_ms: int) -> None:
        """Lets everybody go on who waits for this."""
        ...

    def undo(self, now_ms: int) -> None:
        """Takes it back."""
        ...


class WriteQueue:
    """The batch under way, and what waits behind it, in order. There is none of a group of which all is written."""

    __slots__ = ("_behind", "_coordinator", "_under_way", "last")

    def __init__(self, coordinator: "ModernHost", changes: Batch, now_ms: int) -> None:
        self.last = changes
        """The latest changes of the group."""
        self._coordinator = coordinator
        self._under_way: list[Batch] = []
        self._behind: list[Batch | Append] = [changes]
        self._go_on(now_ms)

    def add(self, changes: Batch) -> None:
        """Writes changes when what came before is written."""
        self.last = changes
        self._behind.append(changes)

    def put_behind(self, append: Append) -> None:
        """Writes something else when what came before is written; it fails with that.

        The record of a classic group that has taken the place of this one, for example.
        """
        self._behind.append(append)

    def _go_on(self, now_ms: int) -> None:
        """Writes what comes next. Other records are not waited for: nothing builds on them."""
        coordinator, behind = self._coordinator, self._behind
        while behind and isinstance(behind[0], Append):
            coordinator.effects.append(behind.pop(0))  # type: ignore[arg-type]
        if not behind:
            del coordinator.unwritten[self.last.group.group_id]
            return
        partition = self.last.group.partition
        coordinator.append(partition, self._next_batch(), now_ms, self._reported)

    def _next_batch(self) -> EncodedRecords:
        bodies: list[bytes] = []
        size = 0
        while self._behind and not isinstance(changes := self._behind[0], Append):
            more = changes.encoded(len(bodies))
            size += sum(map(len, more))
            if self._under_way and size > MOST_BYTES:
                break
            bodies += more
            self._under_way.append(changes)
            del self._behind[0]
        return EncodedRecords(b"".join(bodies), len(bodies))

    def _reported(self, error: ErrorCode, now_ms: int) -> None:
        if error is not ErrorCode.none:
            self._take_back(error, now_ms)
            return
        written, self._under_way = self._under_way, []
        last_offset = self._coordinator.appended_offset
        for changes in reversed(written):
            changes.last_offset = last_offset
            last_offset = None if last_offset is None else last_offset - changes.record_count
        self._go_on(now_ms)
        for changes in written:
            changes.answer(error, now_ms)

    def _take_back(self, error: ErrorCode, now_ms: int) -> None:
        """Everything is as it was before, the last of it first, and all requests hear `error`."""
        coordinator = self._coordinator
        failed = [*self._under_way, *self._behind]
        del coordinator.unwritten[self.last.group.group_id]
        for each in reversed(failed):
            if not isinstance(each, Append):
                each.undo(now_ms)
        for each in failed:
            if isinstance(each, Append):
                coordinator.conclude(each.token, error, now_ms)
            else:
                each.answer(error, now_ms)
