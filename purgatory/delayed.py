"""Operations that wait until something happens or their time is up, under the contract of Kafka's purgatory.

An operation that cannot complete at once waits under its keys and on the wheel. An event on one of the keys tries it
again. At its deadline it is completed by force, and it completes exactly once.
(Kafka: `DelayedOperation`, `DelayedOperationPurgatory`; one thread here, hence no locks and no sharded watch lists.)
"""

from collections.abc import Callable, Hashable, Iterable

from mypy_extensions import mypyc_attr

from kohort.purgatory.wheel import TimerEntry, TimingWheel


@mypyc_attr(allow_interpreted_subclasses=True)
class DelayedOperation(TimerEntry):
    """What waits. Subclasses say when it may complete and what happens then."""

    __slots__ = ("_keys", "completed")

    def __init__(self, deadline_ms: int) -> None:
        super().__init__(deadline_ms)
        self._keys: tuple[Hashable, ...] = ()
        self.completed = False

    def can_complete(self, now_ms: int) -> bool:
        """Whether it may complete now. Called at every event on one of its keys."""
        return False

    def on_complete(self, now_ms: int, *, expired: bool) -> None:
        """The effect; called once. `expired`: by its deadline, which then is `now_ms`."""
        raise NotImplementedError

    def abandon(self) -> None:
        """One of the two above has raised, and the operation waits no more. Lets go of whoever waits for it."""


class Purgatory:
    """Where operations wait, all of them on one wheel."""

    def __init__(
        self,
        now_ms: int = 0,
        changed: Callable[[], None] | None = None,
        failed: Callable[[DelayedOperation, Exception], None] | None = None,
    ) -> None:
        """`changed` is called whenever an operation starts to wait, so that a shell can arm its timer anew.

        `failed` gets an operation that raises in `check` or `advance`, and the others go on. Without it the
        exception leaves the call, and what else is due completes at the next.
        """
        self._wheel = TimingWheel(now_ms)
        self._due: list[TimerEntry] = []
        """What the wheel has let go and `advance` has not come to yet; the next one is the last."""
        self._due_ms = now_ms
        """The moment to which it was let go."""
        self._until_ms = now_ms
        """The moment to which `advance` goes, or went the last time."""
        self._watched: dict[Hashable, dict[DelayedOperation, None]] = {}
        self._changed = changed
        self._failed = failed

    def __len__(self) -> int:
        """How many operations wait."""
        return len(self._wheel) + sum([isinstance(each, DelayedOperation) and not each.completed for each in self._due])

    @property
    def next_wakeup_ms(self) -> int | None:
        """When to call `advance` next, in monotonic milliseconds; None: nothing waits."""
        return self._due_ms if self._due else self._wheel.next_wakeup_ms

    def wait(self, operation: DelayedOperation, keys: Iterable[Hashable] = ()) -> None:
        """Lets `operation` wait under `keys` until its deadline; whoever wants it tried first asks `can_complete`."""
        operation._keys = tuple(keys)
        for key in operation._keys:
            self._watched.setdefault(key, {})[operation] = None
        self._wheel.add(operation)
        if self._changed is not None:
            self._changed()

    def wait_for_a_turn(self, operation: DelayedOperation) -> None:
        """Lets one that completes by its deadline wait once more, so that others come in between.

        It is due a millisecond after all that is due with it. After the deadline itself it would be the next to come,
        again and again, where the time has gone on meanwhile.
        """
        operation.completed = False
        operation.deadline_ms = self._until_ms + 1
        self.wait(operation)

    def check(self, key: Hashable, now_ms: int) -> int:
        """Tries again what waits under `key`. Returns how many operations completed."""
        waiting = self._watched.get(key)
        if waiting is None:
            return 0
        count = 0
        for operation in list(waiting):
            try:
                if not operation.completed and operation.can_complete(now_ms):
                    count += self.complete(operation, now_ms)
            except Exception as problem:
                self.cancel(operation)
                self._report(operation, problem)
        return count

    def complete(self, operation: DelayedOperation, now_ms: int) -> bool:
        """Completes `operation`, waiting or not. Returns False when it had completed before."""
        return self._complete(operation, now_ms, expired=False)

    def cancel(self, operation: DelayedOperation) -> None:
        """Forgets `operation`; it will never complete."""
        operation.completed = True
        self._remove(operation)

    def postpone(self, operation: DelayedOperation, deadline_ms: int) -> None:
        """Moves the deadline of a waiting operation.

        A later deadline costs nothing: the wheel still holds the old one, and finds out when that comes up.
        """
        if deadline_ms < operation.deadline_ms and operation.scheduled:
            self._wheel.cancel(operation)
            operation.deadline_ms = deadline_ms
            self._wheel.add(operation)
            if self._changed is not None:
                self._changed()
        else:
            operation.deadline_ms = deadline_ms

    def advance(self, now_ms: int, at_most: int | None = None) -> int:
        """Completes by force what is due until `now_ms`, each at its own deadline. Returns how many completed.

        Operations that are added meanwhile and are already due complete too, in their turn. `at_most`: looks at no more
        of them, and `next_wakeup_ms` stays where it is until the others have had their turn.
        """
        count = looked_at = 0
        wheel = self._wheel
        self._until_ms = now_ms
        while (wakeup_ms := self.next_wakeup_ms) is not None and wakeup_ms <= now_ms:
            if looked_at == at_most:
                return count
            if not self._due:
                # One moment at a time: what completes at it may add something that is due before the next one.
                self._due = wheel.advance(wakeup_ms)
                self._due.reverse()
                self._due_ms = wakeup_ms
            while self._due and looked_at != at_most:
                looked_at += 1
                count += self._expire(self._due.pop())
        wheel.advance(now_ms)
        return count

    def _expire(self, operation: TimerEntry) -> int:
        """Completes what the wheel has let go, unless something has cancelled or postponed it since. Returns 0 or 1."""
        assert isinstance(operation, DelayedOperation)
        if operation.deadline_ms <= self._due_ms:
            try:
                return self._complete(operation, self._due_ms, expired=True)
            except Exception as problem:
                self._report(operation, problem)
        elif not operation.completed and not operation.scheduled:
            self._wheel.add(operation)
        return 0

    def _report(self, operation: DelayedOperation, problem: Exception) -> None:
        if self._failed is None:
            raise
        self._failed(operation, problem)

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
