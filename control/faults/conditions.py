"""Conditions that a request can be delayed until: a group's state, a group event, a request at a gate point."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from kohort.control.control_errors import unknown
from kohort.control.faults.matching import STATE_NAMES
from kohort.control.gates.gate_points import GATE_POINTS
from kohort.coordinator.events.group_event import KINDS

if TYPE_CHECKING:
    from kohort.broker.cluster.group_events import Recorded
    from kohort.control.history.recorder import Recorder
    from kohort.control.request_facts import RequestFacts


@dataclass(frozen=True, slots=True)
class Condition:
    """Condition in the group of a request, or in any group for a request without one.

    A state such as `Stable` holds as long as it lasts. A group event such as `member_added`, and a gate point such as
    `join-complete`, count the next time they occur. No gate is needed at that point.
    """

    word: str

    def __post_init__(self) -> None:
        """Raise ControlError for an unknown condition, with the nearest valid one."""
        if self.word not in STATE_NAMES | KINDS | GATE_POINTS.keys():
            raise unknown("condition", self.word, STATE_NAMES | KINDS | GATE_POINTS.keys())

    def is_now(self, facts: RequestFacts) -> bool:
        return self.word in STATE_NAMES and facts.state == self.word


class Delayable(Protocol):
    """Request, or its response, that can be delayed (`exchange.Exchange`)."""

    facts: RequestFacts
    stage: str

    def wait(self, length_ms: int, response: object = None) -> None: ...

    def resume(self, response: object = None) -> None: ...


@dataclass(slots=True, eq=False)
class Delayed:
    """Request, or response, that waits for its condition."""

    condition: Condition
    exchange: Delayable
    response: Any
    is_finished: bool = False


class Conditions:
    """Delayed requests and responses, and the conditions they wait for."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._delayed: list[Delayed] = []
        self._listening = False

    def wait(self, condition: Condition, exchange: Delayable, response: Any) -> Delayed:
        """Delay a request, or its response, until its condition holds."""
        if not self._listening:
            self._listening = True
            self._recorder.start()
            self._recorder.listen(self._on_event)
        delayed = Delayed(condition, exchange, response)
        self._delayed.append(delayed)
        return delayed

    def end(self, delayed: Delayed) -> None:
        if not delayed.is_finished:
            self._remove(delayed)
            delayed.exchange.resume(delayed.response)

    @property
    def are_awaited(self) -> bool:
        """Whether at least one request is delayed until a condition holds."""
        return bool(self._delayed)

    def passed(self, exchange: Delayable, response: Any) -> None:
        """Resume the requests that wait for the gate points at which a request is now."""
        if self._delayed:
            for name, stop in GATE_POINTS.items():
                if stop.is_for(exchange.facts.api, exchange.stage, response):
                    self._resume_matching(name, exchange.facts.group)

    def _on_event(self, recorded: Recorded) -> None:
        if self._delayed and recorded.event.group_id is not None:
            self._resume_matching(recorded.event.kind, recorded.event.group_id)

    def _resume_matching(self, word: str, group: str) -> None:
        for delayed in list(self._delayed):
            facts = delayed.exchange.facts
            if facts.group in ("", group) and (delayed.condition.word == word or delayed.condition.is_now(facts)):
                self._remove(delayed)
                delayed.exchange.wait(0, delayed.response)  # not immediately: another request may be in progress

    def _remove(self, delayed: Delayed) -> None:
        delayed.is_finished = True
        self._delayed.remove(delayed)
