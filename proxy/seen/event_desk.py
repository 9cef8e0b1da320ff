"""Events of groups that are seen from outside, with the evidence that each has.

What makes a broker's events makes these too. It is given a desk where it would have a coordinator.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final, cast

from kohort.broker.address import java_address
from kohort.coordinator.requesting_client import Client

if TYPE_CHECKING:
    from kohort.coordinator.events.group_event import GroupEvent
    from kohort.proxy.tap import Line, Overheard

EVIDENCE: Final = "evidence"
"""What an event's `detail` says this under: where it is known from."""

REQUEST: Final = "a request that the cluster has not refused"
ANSWER: Final = "an answer of the cluster"
ROSTER: Final = "the list of members that the leader was given"
DESCRIBED: Final = "a description that the cluster gave"
REFUSAL: Final = "an error that the cluster answered"
COUNTED: Final = "what passed was counted"
NOT_SHOWN: Final = "the wire does not show why"

UNKNOWN_CAUSE: Final = "unknown"
"""The cause of what happened within the cluster: the wire shows that it happened, and seldom why."""


class Moment:
    """The time, as the model is told it: microseconds of a monotonic clock."""

    def __init__(self, epoch_ms: int) -> None:
        """`epoch_ms`: see `Clock`."""
        self.epoch_ms = epoch_ms
        self.us = 0

    def now_us(self) -> int:
        """That of what was heard last."""
        return self.us


class Clients:
    """Who speaks on which connection."""

    def __init__(self) -> None:
        self._software: dict[int, str] = {}

    def named(self, line: Line, software: str) -> None:
        """A client has said what it is (KIP-511)."""
        self._software[line.number] = software

    def forget(self, line: Line) -> None:
        """It has hung up."""
        self._software.pop(line.number, None)

    def of(self, overheard: object) -> Client:
        """Who has sent a request; the address is that of the client, where a broker would name the proxy's."""
        heard = cast("Overheard", overheard)
        line = heard.line
        return Client(heard.header.client_id or "", java_address(line.host), self._software.get(line.number))


class Sink:
    """Where a broker has a list of effects: each event is handed on at once."""

    def __init__(self, take: Callable[[GroupEvent], None]) -> None:
        self.append = take


class EventDesk:
    """Stands for a coordinator before what makes events. It has no log."""

    appended_offset = None

    def __init__(self, moment: Moment, take: Callable[[GroupEvent], None]) -> None:
        self.epoch_ms = moment.epoch_ms
        self.effects = Sink(take)
