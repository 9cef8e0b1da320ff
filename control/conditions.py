"""Conditions that a request can be delayed until: a group's state, a group event, a request at a gate point."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from kohort.control.control_errors import unknown
from kohort.control.faults.matching import STATE_NAMES
from kohort.control.gate_points import GATE_POINTS
from kohort.coordinator.events.group_event import KINDS

if TYPE_CHECKING:
    from kohort.broker.cluster.group_events import Recorded
    from kohort.control.recorder import Recorder
    from kohort.control.request_facts import RequestFacts


@dataclass(frozen=True, slots=True)
class Condition:
    """Something that comes about in the group that a request is about; of a request about none, in any group.

    `Stable` and the other states hold for as long as they last; of `member_added` and the other kinds of group events,
    and of `join-complete` and the other gate points, the next one counts. No gate need stand there.
    """

    word: str

    def __post_init__(self) -> None:
        """Raises ControlError, with the nearest word, for what never comes."""
        if self.word not in STATE_NAMES | KINDS | GATE_POINTS.keys():
            raise unknown("condition to wait for", self.word, STATE_NAMES | KINDS | GATE_POINTS.keys())

    def is_now(self, facts: RequestFacts) -> bool:
        """Whether there is nothing to wait for."""
        return self.word in STATE_NAMES and facts.state == self.word


class Delayable(Protocol):
    """A request, or its answer, that may be delayed (`exchange.Exchange`)."""

    facts: RequestFacts
    stage: str

    def wait(self, length_ms: int, response: object = None) -> None:
        """Goes on after a while."""
        ...

    def resume(self, response: object = None) -> None:
        """Goes on where it was stopped."""
        ...


@dataclass(slots=True, eq=False)
class Delayed:
    """A request, or an answer, that waits for its condition."""

    condition: Condition
    exchange: Delayable
    response: Any
    over: bool = False


class Conditions:
    """Who waits for what."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._delayed: list[Delayed] = []
        self._listening = False

    def wait(self, condition: Condition, exchange: Delayable, response: Any) -> Delayed:
        """Lets a request, or its answer, go on when its condition holds."""
        if not self._listening:
            self._listening = True
            self._recorder.start()
            self._recorder.listen(self._hear)
        delayed = Delayed(condition, exchange, response)
        self._delayed.append(delayed)
        return delayed

    def end(self, delayed: Delayed) -> None:
        """Its rule has been removed: it goes on now, if it waits still."""
        if not delayed.over:
            self._remove(delayed)
            delayed.exchange.resume(delayed.response)

    def passed(self, exchange: Delayable, response: Any) -> None:
        """A request has reached its gate points."""
        if self._delayed:
            for name, stop in GATE_POINTS.items():
                if stop.is_for(exchange.facts.api, exchange.stage, response):
                    self._come(name, exchange.facts.group)

    def _hear(self, recorded: Recorded) -> None:
        if self._delayed and recorded.event.group_id is not None:
            self._come(recorded.event.kind, recorded.event.group_id)

    def _come(self, word: str, group: str) -> None:
        for each in list(self._delayed):
            facts = each.exchange.facts
            if facts.group in ("", group) and (each.condition.word == word or each.condition.is_now(facts)):
                self._remove(each)
                each.exchange.wait(0, each.response)  # not now: this may be the middle of somebody else's turn

    def _remove(self, delayed: Delayed) -> None:
        delayed.over = True
        self._delayed.remove(delayed)
