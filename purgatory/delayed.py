"""Operations that wait until an event or their deadline, with the contract of Kafka's purgatory.

An operation that cannot complete immediately waits under its keys and on the wheel. An event on one of the keys checks
it again. At its deadline it is forced to complete. Each operation completes exactly once.
Source: Kafka's `DelayedOperation` and `DelayedOperationPurgatory`; one thread here, hence no locks and no sharded watch
lists.
"""

from collections.abc import Callable, Hashable, Iterable

from mypy_extensions import mypyc_attr

from kohort.purgatory.wheel import TimerEntry, TimingWheel


@mypyc_attr(allow_interpreted_subclasses=True)
class DelayedOperation(TimerEntry):
    """A waiting operation. Subclasses define when it can complete and what happens then."""

    __slots__ = ("_keys", "completed")

    def __init__(self, deadline_ms: int) -> None:
        super().__init__(deadline_ms)
        self._keys: tuple[Hashable, ...] = ()
        self.completed = False

    def can_complete(self, now_ms: int) -> bool:
        """Return whether the operation can complete now. Called at every event on one of its keys."""
        return False

    def on_complete(self, now_ms: int, *, expired: bool) -> None:
        """Perform the effect; called once. If the operation expired, `now_ms` is its deadline."""
        raise NotImplementedError

    def abandon(self) -> None:
        """Release the requests that wait for this operation, because `can_complete` or `on_complete` raised."""


class Purgatory:
    """Holds waiting operations, all on one timing wheel."""

    def __init__(
        self,
        now_ms: int = 0,
        changed: Callable[[], None] | None = None,
        failed: Callable[[DelayedOperation, Exception], None] | None = None,
    ) -> None:
        """Create an empty purgatory.

        Args:
            changed: Called when `next_wakeup_ms` may be earlier than before, so that the caller can re-arm its timer.
            failed: Receives an operation that raises in `check` or `advance`; the others continue. Without it the
                exception leaves the call, and the remaining due operations complete at the next call.
        """
        self._wheel = TimingWheel(now_ms)
        # Entries that the wheel has released and `advance` has not processed, in reverse order.
        self._due: list[TimerEntry] = []
        self._due_ms = now_ms  # The time at which they were due.
        self._until_ms = now_ms  # The time passed to the current or last `advance`.
        self._watched: dict[Hashable, dict[DelayedOperation, None]] = {}
        self._changed = changed
        self._failed = failed

    def __len__(self) -> int:
        """Return the number of waiting operations."""
        return len(self._wheel) + sum(
            [isinstance(entry, DelayedOperation) and not entry.completed for entry in self._due]
        )

    @property
    def next_wakeup_ms(self) -> int | None:
        """Time of the next `advance` in monotonic milliseconds, or None if no operation waits."""
        return self._due_ms if self._due else self._wheel.next_wakeup_ms

    def wait(self, operation: DelayedOperation, keys: Iterable[Hashable] = ()) -> None:
        """Add `operation` under `keys` until its deadline. It is not checked first; call `can_complete` for that."""
        if keys:
            operation._keys = tuple(keys)
            for key in operation._keys:
                self._watched.setdefault(key, {})[operation] = None
        if self._wheel.add(operation) and self._changed is not None:
            self._changed()

    def wait_for_a_turn(self, operation: DelayedOperation) -> None:
        """Let an operation that completes by its deadline wait again, so that others run in between.

        It is due one millisecond after everything that is due now. With its own deadline it would always be the next to
        run, if time has moved on meanwhile.
        """
        operation.completed = False
        operation.deadline_ms = self._until_ms + 1
        self.wait(operation)

    def check(self, key: Hashable, now_ms: int) -> int:
        """Check the operations that wait under `key` and return how many completed."""
        waiting = self._watched.get(key)
        if waiting is None:
            return 0
        count = 0
        for operation in list(waiting):
            try:
                if not operation.completed and operation.can_complete(now_ms):
                    count += self.complete(operation, now_ms)
            except Exception as error:
                self.cancel(operation)
                self._report(operation, error)
        return count

    def complete(self, operation: DelayedOperation, now_ms: int) -> bool:
        """Complete `operation`, waiting or not. Return False if it had completed before."""
        return self._complete(operation, now_ms, expired=False)

    def cancel(self, operation: DelayedOperation) -> None:
        """Remove `operation` without completing it."""
        operation.completed = True
        self._remove(operation)

    def postpone(self, operation: DelayedOperation, deadline_ms: int) -> None:
        """Set the deadline of a waiting operation, which may be earlier or later than before."""
        if self._wheel.set_deadline(operation, deadline_ms) and self._changed is not None:
            self._changed()

    def advance(self, now_ms: int, at_most: int | None = None) -> int:
        """Force operations that are due until `now_ms` to complete, each at its own deadline; return their number.

        Operations that are added meanwhile and are already due complete, too, in order.

        Args:
            at_most: Number of operations to process; `next_wakeup_ms` stays in place until the others have been
                processed.
        """
        count = processed = 0
        wheel = self._wheel
        self._until_ms = now_ms
        while (wakeup_ms := self.next_wakeup_ms) is not None and wakeup_ms <= now_ms:
            if processed == at_most:
                return count
            if not self._due:
                # One moment at a time: what completes at it may add something that is due before the next one.
                self._due = wheel.advance(wakeup_ms)
                self._due.reverse()
                self._due_ms = wakeup_ms
            while self._due and processed != at_most:
                processed += 1
                count += self._expire(self._due.pop())
        wheel.advance(now_ms)
        return count

    def _expire(self, operation: TimerEntry) -> int:
        """Complete an entry released by the wheel unless it was cancelled or postponed since. Return 0 or 1."""
        assert isinstance(operation, DelayedOperation)
        if operation.deadline_ms <= self._due_ms:
            try:
                return self._complete(operation, self._due_ms, expired=True)
            except Exception as error:
                self._report(operation, error)
        elif not operation.completed and not operation.scheduled:
            self._wheel.add(operation)
        return 0

    def _report(self, operation: DelayedOperation, error: Exception) -> None:
        if self._failed is None:
            raise
        self._failed(operation, error)

    def _complete(self, operation: DelayedOperation, now_ms: int, *, expired: bool) -> bool:
        if operation.completed:
            return False
        operation.completed = True
        self._remove(operation)
        operation.on_complete(now_ms, expired=expired)
        return True

    def _remove(self, operation: DelayedOperation) -> None:
        self._wheel.cancel(operation)
        for key in operation._keys:
            waiting = self._watched.get(key)
            if waiting is not None:
                waiting.pop(operation, None)
                if not waiting:
                    del self._watched[key]
        operation._keys = ()
