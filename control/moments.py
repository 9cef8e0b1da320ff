"""Moments of a group that a request may be delayed until: a state, an event, somebody's coming to a stop."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from kohort.control.errors import unknown
from kohort.control.faults.matching import STATE_NAMES
from kohort.control.stops import STOPS
from kohort.coordinator.events import KINDS

if TYPE_CHECKING:
    from kohort.broker.cluster.group_events import Recorded
    from kohort.control.recorder import Recorder
    from kohort.control.subject import Subject


@dataclass(frozen=True, slots=True)
class Moment:
    """Something that comes about in the group that a request is about; of a request about none, in any group.

    `Stable` and the other states hold for as long as they last; of `member_added` and the other kinds of group events,
    and of `join-complete` and the other stops, the next one counts. A stop need not be held.
    """

    word: str

    def __post_init__(self) -> None:
        """Raises ControlError, with the nearest word, for what never comes."""
        if self.word not in STATE_NAMES | KINDS | STOPS.keys():
            raise unknown("moment", self.word, STATE_NAMES | KINDS | STOPS.keys())

    def is_now(self, subject: Subject) -> bool:
        """Whether there is nothing to wait for."""
        return self.word in STATE_NAMES and subject.state == self.word


class Delayable(Protocol):
    """A request, or its answer, that may be delayed (`calls.Call`)."""

    subject: Subject
    stage: str

    def wait(self, length_ms: int, response: object = None) -> None:
        """Goes on after a while."""
        ...

    def resume(self, response: object = None) -> None:
        """Goes on where it was stopped."""
        ...


@dataclass(slots=True, eq=False)
class Delayed:
    """A request, or an answer, that waits for its moment."""

    moment: Moment
    call: Delayable
    response: Any
    over: bool = False


class Moments:
    """Who waits for what."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._delayed: list[Delayed] = []
        self._listening = False

    def wait(self, moment: Moment, call: Delayable, response: Any) -> Delayed:
        """Lets a request, or its answer, go on when its moment has come."""
        if not self._listening:
            self._listening = True
            self._recorder.start()
            self._recorder.listen(self._hear)
        delayed = Delayed(moment, call, response)
        self._delayed.append(delayed)
        return delayed

    def end(self, delayed: Delayed) -> None:
        """Its rule has been removed: it goes on now, if it waits still."""
        if not delayed.over:
            self._remove(delayed)
            delayed.call.resume(delayed.response)

    def passed(self, call: Delayable, response: Any) -> None:
        """A request has come to where stops are."""
        if self._delayed:
            for name, stop in STOPS.items():
                if stop.is_for(call.subject.api, call.stage, response):
                    self._come(name, call.subject.group)

    def _hear(self, recorded: Recorded) -> None:
        if self._delayed and recorded.event.group_id is not None:
            self._come(recorded.event.kind, recorded.event.group_id)

    def _come(self, word: str, group: str) -> None:
        for each in list(self._delayed):
            subject = each.call.subject
            if subject.group in ("", group) and (each.moment.word == word or each.moment.is_now(subject)):
                self._remove(each)
                each.call.wait(0, each.response)  # not now: this may be the middle of somebody else's turn

    def _remove(self, delayed: Delayed) -> None:
        delayed.over = True
        self._delayed.remove(delayed)
