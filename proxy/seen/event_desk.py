"""Events of observed groups, with the evidence for each.

The broker's event sources create these too; they get a desk in place of a coordinator.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final, cast

from kohort.base.address import java_address
from kohort.coordinator.requesting_client import Client

if TYPE_CHECKING:
    from kohort.coordinator.events.group_event import GroupEvent
    from kohort.proxy.tap import Line, ObservedCall

EVIDENCE: Final = "evidence"  # key in an event's `detail`

REQUEST: Final = "a request without an error response"
ANSWER: Final = "a response of the cluster"
ROSTER: Final = "the list of members in the leader's response"
DESCRIBED: Final = "a description by the cluster"
REFUSAL: Final = "an error response of the cluster"
COUNTED: Final = "counted messages"
NOT_SHOWN: Final = "the traffic does not show why"

UNKNOWN_CAUSE: Final = "unknown"
"""Cause of events within the cluster, which the traffic shows without a cause."""


class Moment:
    """Time of the model in microseconds of a monotonic clock."""

    def __init__(self, epoch_ms: int) -> None:
        self.epoch_ms = epoch_ms
        self.us = 0

    def now_us(self) -> int:
        """Return the time of the last observed message."""
        return self.us


class Clients:
    """Clients by connection."""

    def __init__(self) -> None:
        self._software: dict[int, str] = {}

    def named(self, line: Line, software: str) -> None:
        """Note a client's software name and version (KIP-511)."""
        self._software[line.number] = software

    def forget(self, line: Line) -> None:
        self._software.pop(line.number, None)

    def of(self, observed: object) -> Client:
        """Return the sender of a request, with the client's address where a broker would see the proxy's."""
        version = cast("ObservedCall", observed)
        line = version.line
        return Client(version.header.client_id or "", java_address(line.host), self._software.get(line.number))


class Sink:
    """List of effects that passes each event on at once."""

    def __init__(self, take: Callable[[GroupEvent], None]) -> None:
        self.append = take


class EventDesk:
    """Replacement for a coordinator in event sources, without a log."""

    appended_offset = None

    def __init__(self, moment: Moment, take: Callable[[GroupEvent], None]) -> None:
        self.epoch_ms = moment.epoch_ms
        self.effects = Sink(take)
