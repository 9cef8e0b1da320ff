"""Events of observed groups, with the evidence for each. The event sources of a coordinator create these too."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Final

if TYPE_CHECKING:
    from kohort.coordinator.events.group_event import GroupEvent

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


@dataclass(frozen=True)
class _EventSink:
    append: Callable[[GroupEvent], None]


class ObservedEvents:
    """`EventHost` of an observed group: passes each event on at once. The offsets of records are unknown."""

    appended_offset: ClassVar[None] = None

    def __init__(self, epoch_ms: int, take: Callable[[GroupEvent], None]) -> None:
        self.epoch_ms = epoch_ms
        self.effects = _EventSink(take)
