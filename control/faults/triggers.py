"""Conditions for when a rule is applied to a matching request."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from random import Random
from typing import Any

from kohort.control.control_errors import ControlError, unknown
from kohort.control.numbers import whole


@dataclass(frozen=True, slots=True)
class Trigger:
    """Limits of a rule; without any, it is always applied."""

    times: int | None = None  # maximum number of times
    nth: int | None = None  # from the n-th matching request on, counted from 1; without `times` only that request
    probability: float = 1.0  # drawn with the cluster's seed

    def __post_init__(self) -> None:
        """Raise ControlError for limits that can never be met."""
        if self.times is not None:
            whole(self.times, "times", 1)
        if self.nth is not None:
            whole(self.nth, "nth", 1)
        if not isinstance(self.probability, int | float) or not 0 < self.probability <= 1:
            raise ControlError(f"probability must be greater than 0 and at most 1, got {self.probability!r}")


FIELDS = tuple(field.name for field in fields(Trigger))


def trigger(conditions: Mapping[str, Any]) -> Trigger:
    """Return a trigger from names and values. Raise ControlError for unknown names, with the nearest valid one."""
    for name in conditions:
        if name not in FIELDS:
            raise unknown("trigger", name, FIELDS)
    return Trigger(**conditions)


class Counting:
    """Trigger with the counts of matching requests and applications."""

    __slots__ = ("_chance", "_trigger", "acted", "seen")

    def __init__(self, trigger: Trigger, chance: Random) -> None:
        self._trigger = trigger
        self._chance = chance
        self.seen = 0  # matching requests so far
        self.acted = 0

    @property
    def exhausted(self) -> bool:
        return self.acted >= self._max_times

    @property
    def would_act(self) -> bool:
        return not self.exhausted and self.seen + 1 >= (self._trigger.nth or 1)

    def pull(self) -> bool:
        self.seen += 1
        trigger = self._trigger
        if self.exhausted or self.seen < (trigger.nth or 1):
            return False
        if trigger.probability < 1 and self._chance.random() >= trigger.probability:
            return False
        self.acted += 1
        return True

    @property
    def _max_times(self) -> float:
        if self._trigger.times is not None:
            return self._trigger.times
        return 1 if self._trigger.nth is not None else float("inf")
