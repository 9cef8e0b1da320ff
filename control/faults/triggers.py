"""When a rule acts on a request that it is for."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from random import Random
from typing import Any

from kohort.control.control_errors import ControlError, unknown
from kohort.control.numbers import whole


@dataclass(frozen=True, slots=True)
class Trigger:
    """Always, unless something is given."""

    times: int | None = None
    """So often and no more."""
    nth: int | None = None
    """From the n-th matching request on, counted from 1; alone: at that one only."""
    probability: float = 1.0
    """With this chance, from the cluster's seed."""

    def __post_init__(self) -> None:
        """Raises ControlError for what can never happen."""
        if self.times is not None:
            whole(self.times, "times", 1)
        if self.nth is not None:
            whole(self.nth, "nth", 1)
        if not isinstance(self.probability, int | float) or not 0 < self.probability <= 1:
            raise ControlError(f"a probability is more than 0 and at most 1, not {self.probability!r}")


WORDS = tuple(each.name for each in fields(Trigger))


def trigger(conditions: Mapping[str, Any]) -> Trigger:
    """From words and values. Raises ControlError, with the nearest word, for one that is none."""
    for name in conditions:
        if name not in WORDS:
            raise unknown("trigger", name, WORDS)
    return Trigger(**conditions)


class Counting:
    """A trigger at work."""

    __slots__ = ("_chance", "_trigger", "acted", "seen")

    def __init__(self, trigger: Trigger, chance: Random) -> None:
        self._trigger = trigger
        self._chance = chance
        self.seen = 0
        """Matching requests so far."""
        self.acted = 0

    @property
    def exhausted(self) -> bool:
        """Whether it will never act again."""
        return self.acted >= self._most

    @property
    def would_act(self) -> bool:
        """Whether it is to be expected to act on the next one; chance is not asked."""
        return not self.exhausted and self.seen + 1 >= (self._trigger.nth or 1)

    def pull(self) -> bool:
        """Counts one more request, and says whether to act on it."""
        self.seen += 1
        trigger = self._trigger
        if self.exhausted or self.seen < (trigger.nth or 1):
            return False
        if trigger.probability < 1 and self._chance.random() >= trigger.probability:
            return False
        self.acted += 1
        return True

    @property
    def _most(self) -> float:
        if self._trigger.times is not None:
            return self._trigger.times
        return 1 if self._trigger.nth is not None else float("inf")
