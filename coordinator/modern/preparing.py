"""Run an assignor: at once if that is fast, otherwise in the background.

Kafka 4.3 computes every target in the heartbeat that finds it due, which blocks all other requests. Here a target that
takes long is available to a later heartbeat, as in a group whose target is not due yet (KIP-1263).
"""

from collections.abc import Generator
from typing import Any

from kohort.coordinator.modern.background_work import SteppedWork
from kohort.coordinator.modern.modern_group import ModernGroup
from kohort.coordinator.modern.preparation import Preparation

# A running assignor. It yields the effort since the last yield: a unit is a partition or task that was examined, about
# 0.1 microseconds. It returns the target of each member by its ID.
Assigning = Generator[int, None, Any]

EFFORT_AT_ONCE = 200_000  # effort of an assignor within one heartbeat: about ten milliseconds

EFFORT_OF_A_SLICE = 20_000


def targets_of(group: ModernGroup, inputs: object, steps: Assigning, now_ms: int) -> dict[str, Any] | None:
    """Return the target of each member by its ID, or None while it is being computed in the background.

    Args:
        steps: The assignor for these inputs. It is not started if a computation for the same inputs exists.
    """
    preparation = group.preparation
    if preparation is not None and preparation.inputs == inputs:
        if preparation.targets is not None:
            group.preparation = None
        return preparation.targets
    targets = _run(steps, EFFORT_AT_ONCE)
    group.preparation = None
    if targets is None:
        group.preparation = Preparation(inputs)
        group.coordinator.purgatory.wait(_Preparing(now_ms, group, group.preparation, steps))
    return targets


class _Preparing(SteppedWork[ModernGroup]):
    """Runs an assignor in the background; ends without a result when members or topics have changed."""

    __slots__ = ("_preparation",)

    def __init__(self, now_ms: int, group: ModernGroup, preparation: Preparation, steps: Assigning) -> None:
        super().__init__(now_ms, group, _in_slices(group, preparation, steps))
        self._preparation = preparation

    def is_wanted(self) -> bool:
        return super().is_wanted() and self.group.preparation is self._preparation

    def on_result(self, result: Any, now_ms: int) -> None:
        self._preparation.targets = result

    def on_dropped(self, now_ms: int) -> None:
        if self.group.preparation is self._preparation:
            self.group.preparation = None  # the group is restored if the write that replaced it fails


def _in_slices(group: ModernGroup, preparation: Preparation, steps: Assigning) -> Generator[None, None, dict[str, Any]]:
    while True:
        observer = group.coordinator.observer
        began_us = observer.measured_from_us()
        targets = _run(steps, EFFORT_OF_A_SLICE)
        preparation.spent_us += observer.measured_us(began_us)
        if targets is not None:
            return targets
        yield


def _run(steps: Assigning, effort: int) -> dict[str, Any] | None:
    while effort > 0:
        try:
            effort -= next(steps)
        except StopIteration as end:
            targets: dict[str, Any] = end.value
            return targets
    return None
