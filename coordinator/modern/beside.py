"""What a group needs and what takes too long for one heartbeat goes on beside all heartbeats, a slice at a time."""

from collections.abc import Generator
from typing import Any, Generic, TypeVar

from mypy_extensions import mypyc_attr

from kohort.coordinator.modern.modern_group import ModernGroup
from kohort.purgatory import DelayedOperation

G = TypeVar("G", bound=ModernGroup)


@mypyc_attr(allow_interpreted_subclasses=True)
class WorkBeside(DelayedOperation, Generic[G]):
    """Work for one group. It ends with the group.

    Of all groups that have some, one after the other is worked for, and everybody else is served after each slice.
    """

    __slots__ = ("_steps", "group")

    def __init__(self, now_ms: int, group: G, steps: Generator[None, None, Any]) -> None:
        """`steps`: yields after each slice."""
        super().__init__(now_ms)
        self.group = group
        self._steps = steps

    def is_wanted(self) -> bool:
        """Whether the group is still there, and anybody waits for what comes of it."""
        return self.group.is_there

    def done(self, result: Any, now_ms: int) -> None:
        """What follows it; `result`: what `steps` has returned."""
        raise NotImplementedError

    def on_complete(self, now_ms: int, *, expired: bool) -> None:
        """Works on, if it is this group's turn."""
        host = self.group.coordinator
        if host.beside is self:
            host.beside = None
        if not self.is_wanted():
            return
        if host.beside is None:
            try:
                next(self._steps)
            except StopIteration as end:
                self.done(end.value, now_ms)
                return
            host.beside = self
        host.purgatory.wait_for_a_turn(self)
