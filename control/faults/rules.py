"""A rule: for which requests, when, and what happens to them."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from types import TracebackType

from kohort.control.faults.actions import ACCESS, Action
from kohort.control.faults.matching import Match
from kohort.control.faults.triggers import Counting, Trigger
from kohort.control.gate_points import ANSWER, REQUEST
from kohort.control.numbers import Seconds, whole
from kohort.control.request_facts import RequestFacts
from kohort.control.waiting import PATIENCE_S, Waiters


class Rule:
    """At work from the moment it is made until it is removed, or the `with` block that it opened ends."""

    number: int
    """Counted from 1 in each cluster."""

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
        """Matching requests so far."""
        return self._counting.seen

    @property
    def acted(self) -> int:
        """On how many of them it has acted."""
        return self._counting.acted

    @property
    def exhausted(self) -> bool:
        """Whether it will never act again."""
        return self._counting.exhausted

    @property
    def idle(self) -> str:
        """A sentence about a rule that has never acted on a request, though it could; empty: about any other."""
        if self.acted or self.action.stage not in (REQUEST, ANSWER, ACCESS):
            return ""
        return f"{self} has never acted; {self.seen or 'no'} request{'' if self.seen == 1 else 's'} matched"

    async def wait(self, times: int = 1, timeout: Seconds = PATIENCE_S) -> None:
        """Until it has acted so often, since it was made. Raises TimeoutError, which says how often it has."""
        whole(times, "times", 1)
        await self._waiters.until(
            lambda: self.acted >= times,
            timeout,
            lambda: f"{self} has acted {self.acted} times, not {times}; {self.seen} requests matched",
        )

    def remove(self) -> None:
        """Ends it: what it holds goes on, what it has silenced is closed, what it delays still comes."""
        self._remove(self)

    def takes(self, facts: RequestFacts) -> bool:
        """Whether it acts on this request, which is counted."""
        return self.match.fits(facts) and self._counting.pull()

    def would_take(self, facts: RequestFacts) -> bool:
        """Whether it would; nothing is counted."""
        return self._counting.would_act and self.match.fits(facts)

    def __enter__(self) -> Rule:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.remove()

    def __str__(self) -> str:
        return f"rule {self.number}: {self.match}: {self.action}"
