"""Queue for the changes of a group on their way to the log (consumer-groups §19).

One batch is written at a time. Changes made meanwhile wait for the next batch: they build on the first one, and must
not be in the log without it. If a batch cannot be written, everything behind it is undone without being written, as in
Kafka's `CoordinatorRuntime`.
"""

from typing import Protocol

from kohort.coordinator.context import OnWritten
from kohort.coordinator.effects import Append, Effect
from kohort.coordinator.groups.group import Group
from kohort.protocol.batches import EncodedRecords
from kohort.protocol.errors import ErrorCode

# Maximum size of a batch with the changes of several requests. The changes of one request are never split.
MAX_BATCH_BYTES = 64 * 1024


class Batch(Protocol):
    """A unit that is written as a whole: the changes of one request (`group_changes.py`)."""

    last_offset: int | None

    @property
    def group(self) -> Group: ...

    @property
    def record_count(self) -> int: ...

    def encoded(self, at: int) -> list[bytes]: ...

    def add_callback(self, on_written: OnWritten) -> None:
        """Call `on_written`, too, when the write succeeds or fails."""
        ...

    def answer(self, error: ErrorCode, now_ms: int) -> None: ...

    def undo(self, now_ms: int) -> None: ...


class WriteHost(Protocol):
    """The parts of `GroupCoordinator` that write."""

    effects: list[Effect]
    appended_offset: int | None
    unwritten: "dict[str, WriteQueue]"

    def append(
        self, partition: int, records: EncodedRecords, now_ms: int, on_written: OnWritten | None = None
    ) -> int: ...

    def conclude(self, token: int, error: ErrorCode, now_ms: int) -> None: ...


class WriteQueue:
    """The batch in progress and the changes behind it, in order. A group without unwritten changes has no queue."""

    __slots__ = ("_behind", "_coordinator", "_under_way", "last")

    def __init__(self, coordinator: WriteHost, changes: Batch, now_ms: int) -> None:
        self.last = changes  # the latest changes of the group
        self._coordinator = coordinator
        self._under_way: list[Batch] = []
        self._behind: list[Batch | Append] = [changes]
        self._write_next(now_ms)

    def add(self, changes: Batch) -> None:
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
        bodies: list[bytes] = []
        size = 0
        while self._behind and not isinstance(changes := self._behind[0], Append):
            more = changes.encoded(len(bodies))
            size += sum(map(len, more))
            if self._under_way and size > MAX_BATCH_BYTES:
                break
            bodies += more
            self._under_way.append(changes)
            del self._behind[0]
        return EncodedRecords(b"".join(bodies), len(bodies))

    def _on_written(self, error: ErrorCode, now_ms: int) -> None:
        if error is not ErrorCode.none:
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
