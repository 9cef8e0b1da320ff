"""Background work for a group that takes too long for one heartbeat: runs between heartbeats, one slice at a time."""

from collections.abc import Generator
from typing import Any, Generic, TypeVar

from mypy_extensions import mypyc_attr

from kohort.coordinator.modern.modern_group import ModernGroup
from kohort.purgatory import DelayedOperation

G = TypeVar("G", bound=ModernGroup)


@mypyc_attr(allow_interpreted_subclasses=True)
class BackgroundWork(DelayedOperation, Generic[G]):
    """Background work for one group. It ends with the group.

    The coordinator runs its background work in turns: one slice each, and it serves other clients after each slice.
    """

    __slots__ = ("_has_queued", "group")

    def __init__(self, now_ms: int, group: G) -> None:
        super().__init__(now_ms)
        self.group = group
        self._has_queued = False

    def is_wanted(self) -> bool:
        """Return whether the group still exists and needs the result."""
        return self.group.is_there

    def work(self, now_ms: int) -> bool:
        """Run one slice and return whether more is left."""
        raise NotImplementedError

    def on_dropped(self, now_ms: int) -> None:
        """Release what waits for this work, because it is not needed any more."""

    def on_complete(self, now_ms: int, *, expired: bool) -> None:
        host = self.group.coordinator
        queue = host.background
        if not self._has_queued:
            self._has_queued = True
            queue.append(self)
            if queue[0] is not self:
                return  # the entry before it wakes it
        is_left = False
        try:
            if self.is_wanted():
                is_left = self.work(now_ms)
            else:
                self.on_dropped(now_ms)
        finally:
            queue.popleft()
            if is_left:
                queue.append(self)
            if queue:
                host.purgatory.wait_for_a_turn(queue[0])


@mypyc_attr(allow_interpreted_subclasses=True)
class SteppedWork(BackgroundWork[G]):
    """Background work that is a generator."""

    __slots__ = ("_steps",)

    def __init__(self, now_ms: int, group: G, steps: Generator[None, None, Any]) -> None:
        super().__init__(now_ms, group)
        self._steps = steps

    def work(self, now_ms: int) -> bool:
        try:
            next(self._steps)
        except StopIteration as end:
            self.on_result(end.value, now_ms)
            return False
        return True

    def on_result(self, result: Any, now_ms: int) -> None:
        raise NotImplementedError
