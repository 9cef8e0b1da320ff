"""What happened to a group, apart from its settings: arrivals of records, and what was done to its members."""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

Action = Literal["start", "stop", "kill", "slow", "pause", "poison", "cure", "grow", "restart", "none"]
Origin = Literal["observed", "inferred", "unknown"]
TOGETHER_MS = 5_500  # actions that follow within this time are one disturbance


class Event(NamedTuple):
    """One action of the script. Times are milliseconds from its beginning."""

    at_ms: int
    action: Action
    member: str = ""
    ms: int = 0  # length of a pause, a slow batch, an absence in a restart, or the work on a poisoned record
    partition: int = -1
    partitions: int = 0  # new number of partitions
    # At this very time, for example read from a log; otherwise the member notices at the end of its poll.
    is_exact: bool = False
    early_ms: int = 0  # it may have happened up to this much earlier; each play draws a time
    waits: bool = False  # a restart that begins when earlier ones have ended and the group is stable


class Sourced(NamedTuple):
    """Origin of an element of the script."""

    element: str
    value: str
    origin: Origin
    rule: str = ""


@dataclass(kw_only=True)
class Script:
    """A workload and its disturbances, which no setting changes."""

    topic: str = "topic"
    partitions: int
    arrivals: Mapping[int, array[int]]  # append times by partition, ascending
    end_ms: int
    events: list[Event]
    starts: dict[str, int] = field(default_factory=dict)  # members of the beginning, and when they start
    # Time from a start to the first request, by member and time of the start, as far as a history contains it
    startups: dict[tuple[str, int], int] = field(default_factory=dict)
    work_ms: int = 20  # per batch
    work_per_record_ms: int = 0
    poll_ms: int = 200  # timeout of the application's poll
    first_ms: int | None = None  # the first disturbance; figures count from here
    origin_ms: int = 0  # wall clock of time 0
    base_offsets: dict[int, int] = field(default_factory=dict)  # offset of the first arrival
    # Topic and partition behind each number; empty if the numbers are those of the topic
    places: list[tuple[str, int]] = field(default_factory=list)
    sources: list[Sourced] = field(default_factory=list)
    burst_ms: int | None = None  # when a burst of records came
    compressed_ms: int = 0  # quiet time that was left out

    @property
    def begins_ms(self) -> int:
        """Time of the first disturbance."""
        if self.first_ms is not None:
            return self.first_ms
        return min((event.at_ms for event in self.events), default=0)

    def disturbances(self) -> list[int]:
        """Return the beginnings of the disturbances."""
        begins: list[int] = []
        last: int | None = None
        for event in sorted(self.events):
            if last is None or event.at_ms - last > TOGETHER_MS:
                begins.append(event.at_ms)
            last = event.at_ms
        return begins

    def appended(self, partition: int, now_ms: int) -> int:
        """Return the log end of a partition."""
        times = self.arrivals.get(partition)
        return 0 if times is None else bisect_right(times, now_ms)
