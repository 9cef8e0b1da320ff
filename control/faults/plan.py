"""The second half of a rule's sentence: `faults.on("Heartbeat", group="billing")` **`.drop(times=2)`**."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypedDict, Unpack

from kohort.control.assignments import Change
from kohort.control.calls import ANSWER, REQUEST
from kohort.control.errors import ControlError
from kohort.control.faults.actions import Action, Assign, Close, Delay, Drop, Hold, Refuse, Truncate
from kohort.control.faults.matching import ANY, Match
from kohort.control.faults.rules import Rule
from kohort.control.faults.triggers import Trigger


class When(TypedDict, total=False):
    """When a rule acts; always, unless something is given. See `Trigger`."""

    times: int
    nth: int
    probability: float


class Plan:
    """Requests that something is going to happen to."""

    def __init__(self, match: Match, add: Callable[[Match, Action, Trigger], Rule]) -> None:
        self._match = match
        self._add = add

    def error(self, name: str, **when: Unpack[When]) -> Rule:
        """They are answered with an error, by Kafka's name; the broker never sees them."""
        return self._rule(Refuse.by_name(name), when)

    def drop(self, **when: Unpack[When]) -> Rule:
        """They are lost on the way: the client hears nothing on that connection, till the rule ends and closes it."""
        return self._rule(Drop(), when)

    def hold(self, **when: Unpack[When]) -> Rule:
        """They wait until the rule is removed, and go on then. Until a test says so at a named moment: see gates."""
        return self._rule(Hold(), when)

    def lose_answer(self, **when: Unpack[When]) -> Rule:
        """The broker does what is asked, but its answer is lost, with all that follows on that connection."""
        return self._rule(Drop(ANSWER), when)

    def close(self, **when: Unpack[When]) -> Rule:
        """The broker hangs up instead of handling them."""
        return self._rule(Close(), when)

    def close_instead_of_answering(self, **when: Unpack[When]) -> Rule:
        """The broker does what is asked, and hangs up."""
        return self._rule(Close(ANSWER), when)

    def truncate(self, length: int, **when: Unpack[When]) -> Rule:
        """Only the first bytes of the answer arrive (the four of its length count), then the broker hangs up."""
        return self._rule(Truncate(length), when)

    def delay(self, seconds: float, jitter: float = 0, **when: Unpack[When]) -> Rule:
        """The broker sees them so much later, by its own clock; `jitter`: up to so many seconds more."""
        return self._rule(Delay(_ms(seconds), _ms(jitter), REQUEST), when)

    def delay_answer(self, seconds: float, jitter: float = 0, **when: Unpack[When]) -> Rule:
        """The broker handles them at once, and its answers leave so much later."""
        return self._rule(Delay(_ms(seconds), _ms(jitter), ANSWER), when)

    def assign(self, change: Change, **when: Unpack[When]) -> Rule:
        """SyncGroup only: the broker sees other assignments than the leader sent. See `kohort.control.assignments`."""
        return self._rule(Assign(change), when)

    def _rule(self, action: Action, when: When) -> Rule:
        if action.only_for is not None and self._match.api not in (action.only_for, ANY):
            raise ControlError(f"only a {action.only_for} can be told to {action}, not a {self._match.api}")
        return self._add(self._match, action, Trigger(**when))


def _ms(seconds: float) -> int:
    return round(seconds * 1000)
