"""Fault rule: selects requests, and applies an action to them."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from types import TracebackType

from kohort.control.faults.actions import ACCESS, Action
from kohort.control.faults.matching import Match
from kohort.control.faults.triggers import Counting, Trigger
from kohort.control.gates.gate_points import ANSWER, REQUEST
from kohort.control.numbers import Seconds, whole
from kohort.control.request_facts import RequestFacts
from kohort.control.waiting import PATIENCE_S, Waiters


class Rule:
    """Rule that applies from its creation until it is removed or its `with` block ends."""

    number: int  # counted from 1 in each cluster

    def __init__(
        self,
        number: int,
        match: Match,
        action: Action,
        trigger: Trigger,
        chance: Random,
        remove: Callable[[Rule], None],
        waiters: Waiters,
    ) -> None:
        self.number = number
        self.match = match
        self.action = action
        self._counting = Counting(trigger, chance)
        self._remove = remove
        self._waiters = waiters

    @property
    def seen(self) -> int:
        """The number of requests that matched."""
        return self._counting.seen

    @property
    def acted(self) -> int:
        """The number of requests to which the rule was applied."""
        return self._counting.acted

    @property
    def exhausted(self) -> bool:
        """Whether the rule will not be applied again."""
        return self._counting.exhausted

    @property
    def idle(self) -> str:
        """A sentence about a rule that has never been applied to a request, although it could have been; else empty."""
        if self.acted or self.action.stage not in (REQUEST, ANSWER, ACCESS):
            return ""
        return f"{self} has never acted; {self.seen or 'no'} request{'' if self.seen == 1 else 's'} matched"

    async def wait(self, times: int = 1, timeout: Seconds = PATIENCE_S) -> None:
        """Wait until the rule has been applied a number of times since its creation, or raise TimeoutError."""
        whole(times, "times", 1)
        await self._waiters.until(
            lambda: self.acted >= times,
            timeout,
            lambda: f"{self} has acted {self.acted} times, not {times}; {self.seen} requests matched",
        )

    def remove(self) -> None:
        """End the rule: held requests continue, silenced connections are closed, and delays continue as planned."""
        self._remove(self)

    def takes(self, facts: RequestFacts) -> bool:
        """Count a request if it matches, and return whether to apply the rule."""
        return self.match.fits(facts) and self._counting.pull()

    def would_take(self, facts: RequestFacts) -> bool:
        """Return whether the rule would be applied, without counting."""
        return self._counting.would_act and self.match.fits(facts)

    def __enter__(self) -> Rule:
        return self

    def __exit__(
        self, error_type: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.remove()

    def __str__(self) -> str:
        return f"rule {self.number}: {self.match}: {self.action}"
