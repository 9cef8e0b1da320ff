"""Work that takes long, done in slices: other operations, and with them other clients, have their turn in between."""

from collections.abc import Callable, Generator
from typing import Generic, TypeVar

from kohort.purgatory.delayed import DelayedOperation, Purgatory

ResultT = TypeVar("ResultT")


def work_in_turns(
    purgatory: Purgatory,
    steps: Generator[object, None, ResultT],
    on_done: Callable[[ResultT, int], None],
    now_ms: int,
) -> None:
    """Run `steps` to their first `yield` now, and from there on one slice in each turn.

    `on_done` gets the result and the time. It is called before this function returns if `steps` never yield.
    """
    _WorkInTurns(purgatory, steps, on_done).on_complete(now_ms, expired=False)


class _WorkInTurns(DelayedOperation, Generic[ResultT]):
    __slots__ = ("_on_done", "_purgatory", "_steps")

    def __init__(
        self,
        purgatory: Purgatory,
        steps: Generator[object, None, ResultT],
        on_done: Callable[[ResultT, int], None],
    ) -> None:
        super().__init__(0)
        self._purgatory = purgatory
        self._steps = steps
        self._on_done = on_done

    def on_complete(self, now_ms: int, *, expired: bool) -> None:
        try:
            next(self._steps)
        except StopIteration as end:
            self._on_done(end.value, now_ms)
        else:
            self._purgatory.wait_for_a_turn(self)
