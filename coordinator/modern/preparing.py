"""An assignor at work: at once where that is soon done, beside the heartbeats where it is not.

Kafka 4.3 computes every target in the heartbeat that finds it due, and lets everybody wait. Here a target that takes
long is there for a later heartbeat, as in a group that is not due for one yet (KIP-1263).
"""

from collections.abc import Generator
from typing import Any

from kohort.coordinator.modern.beside import SteppedWork
from kohort.coordinator.modern.modern_group import ModernGroup
from kohort.coordinator.modern.preparation import Preparation

Assigning = Generator[int, None, Any]
"""An assignor at work. It yields how much it has done since: a unit is a partition or task that was looked at, a tenth
of a microsecond. It returns the target of each member, by its id."""

EFFORT_AT_ONCE = 200_000
"""What an assignor may do within one heartbeat, counted in partitions that are looked at: some ten milliseconds."""

EFFORT_OF_A_SLICE = 20_000


def targets_of(group: ModernGroup, inputs: object, steps: Assigning, now_ms: int) -> dict[str, Any] | None:
    """The target of each member, by its id. None: it is computed beside, and is to be asked for again.

    `steps`: the assignor that begins with these inputs; it is not asked where they have been worked on already.
    """
    preparation = group.preparation
    if preparation is not None and preparation.inputs == inputs:
        if preparation.targets is not None:
            group.preparation = None
        return preparation.targets
    targets = _worked(steps, EFFORT_AT_ONCE)
    group.preparation = None
    if targets is None:
        group.preparation = Preparation(inputs)
        group.coordinator.purgatory.wait(_Preparing(now_ms, group, group.preparation, steps))
    return targets


class _Preparing(SteppedWork[ModernGroup]):
    """Ends without a result when members or topics have changed: then another one is at work."""

    __slots__ = ("_preparation",)

    def __init__(self, now_ms: int, group: ModernGroup, preparation: Preparation, steps: Assigning) -> None:
        super().__init__(now_ms, group, _in_slices(group, preparation, steps))
        self._preparation = preparation

    def is_wanted(self) -> bool:
        """Whether nobody has begun anew."""
        return super().is_wanted() and self.group.preparation is self._preparation

    def done(self, result: Any, now_ms: int) -> None:
        """The next heartbeat finds it."""
        self._preparation.targets = result


def _in_slices(group: ModernGroup, preparation: Preparation, steps: Assigning) -> Generator[None, None, dict[str, Any]]:
    while True:
        began_us = group.measured_from_us()
        targets = _worked(steps, EFFORT_OF_A_SLICE)
        preparation.spent_us += group.measured_us(began_us)
        if targets is not None:
            return targets
        yield


def _worked(steps: Assigning, effort: int) -> dict[str, Any] | None:
    """What has come of it; None: more than `effort` was not enough."""
    while effort > 0:
        try:
            effort -= next(steps)
        except StopIteration as end:
            targets: dict[str, Any] = end.value
            return targets
    return None
