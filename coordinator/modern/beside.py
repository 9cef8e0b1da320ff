"""Work for a group that takes too long for one heartbeat: done between heartbeats, a slice at a time."""

from collections.abc import Generator
from typing import Any, Generic, TypeVar

from mypy_extensions import mypyc_attr

from kohort.coordinator.modern.modern_group import ModernGroup
from kohort.purgatory import DelayedOperation

G = TypeVar("G", bound=ModernGroup)


@mypyc_attr(allow_interpreted_subclasses=True)
class WorkBeside(DelayedOperation, Generic[G]):
    """Work for one group. It ends with the group.

    All work of a coordinator takes turns: one slice for each, and other clients are served after each slice.
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
        """Do one slice. Return whether more is left."""
        raise NotImplementedError

    def on_dropped(self, now_ms: int) -> None:
        """Release what waits for this work, because it is not wanted any more."""

    def on_complete(self, now_ms: int, *, expired: bool) -> None:
        """Do one slice, then let the next work have its turn."""
        host = self.group.coordinator
        queue = host.beside
        if not self._has_queued:
            self._has_queued = True
            queue.append(self)
            if queue[0] is not self:
                return  # the work before it wakes it
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
class SteppedWork(WorkBeside[G]):
    """Work that is a generator."""

    __slots__ = ("_steps",)

    def __init__(self, now_ms: int, group: G, steps: Generator[None, None, Any]) -> None:
        """Work on `steps`, which yields after each slice."""
        super().__init__(now_ms, group)
        self._steps = steps

    def work(self, now_ms: int) -> bool:
        try:
            next(self._steps)
        except StopIteration as end:
            self.done(end.value, now_ms)
            return False
        return True

    def done(self, result: Any, now_ms: int) -> None:
        """Use `result`, which `steps` has returned."""
        raise NotImplementedError
