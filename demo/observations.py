"""Observations of the play: reports of all processes, and the broker's log lines about its groups."""

from __future__ import annotations

import asyncio
import time
from bisect import bisect_left
from collections import defaultdict, deque
from collections.abc import Callable
from itertools import pairwise
from typing import Any

from kohort.base.visible import visible
from kohort.demo.reports import Consumed, Produced, Range, Report, Revoked, Wrong
from kohort.demo.stage import Stage

LINES_KEPT = 200


class PlayError(Exception):
    """Error that stops the play; the message is one sentence."""


class GroupObservations:
    """Observations of one group: the owners in each generation, and the reader and time of each record."""

    def __init__(self, partitions: int) -> None:
        self.state = "Empty"
        self.generation = 0
        # generation: partitions of each member, as the broker reports them
        self.assignments: dict[int, dict[str, list[int]]] = {}
        self.changed_at = 0.0  # time of the last state change that the broker reported
        # generation and partition: readers, as the clients report them
        self.readers: dict[tuple[int, int], set[str]] = defaultdict(set)
        self.times_read = [bytearray() for _ in range(partitions)]  # readings of each record, at most 255
        self.read_at: list[list[float]] = [[] for _ in range(partitions)]
        self.records_at: list[tuple[float, int]] = []  # times and numbers of reported records
        self.revocations: list[tuple[float, str, list[int]]] = []

    def note(self, name: str, consumed: Consumed) -> None:
        """Record that a member has read records."""
        for partition, first, last in consumed.ranges:
            self.readers[consumed.generation, partition].add(name)
            self.read_at[partition].append(consumed.at)
            count = self.times_read[partition]
            count.extend(bytes(max(0, last + 1 - len(count))))
            for offset in range(first, last + 1):
                count[offset] = min(count[offset] + 1, 255)
        self.records_at.append((consumed.at, sum(last - first + 1 for _, first, last in consumed.ranges)))

    def position(self, partition: int) -> int:
        """Return the first unread offset."""
        count = self.times_read[partition]
        unread = count.find(0)
        return len(count) if unread < 0 else unread

    def read_again(self) -> int:
        """Return the number of readings beyond the first."""
        return sum(sum(count) - len(count) + count.count(0) for count in self.times_read)

    def rate(self, now: float) -> float:
        """Return the records of the last second."""
        recent = self.records_at[bisect_left(self.records_at, (now - 1.0, 0)) :]
        return float(sum(count for _, count in recent))

    def reports(self, partition: int, now: float) -> int:
        """Return the number of reports about a partition in the last second."""
        return len(self.read_at[partition]) - bisect_left(self.read_at[partition], now - 1.0)

    def rebalances(self, since_generation: int) -> int:
        """Return the number of later generations with members."""
        return sum(generation > since_generation for generation in self.assignments)

    def silence(self, start: float, end: float, partitions: list[int] | None = None) -> float:
        """Return the longest time between two moments in which none of the partitions (None: of all) was read."""
        chosen = range(len(self.read_at)) if partitions is None else partitions
        moments = sorted(at for partition in chosen for at in self.read_at[partition] if start < at < end)
        return _longest_gap([start, *moments, end])

    def longest_wait(self, start: float, end: float, partitions: list[int] | None = None) -> float:
        """Return the longest time in which any one of the partitions was not read."""
        chosen = range(len(self.read_at)) if partitions is None else partitions
        return max((self.silence(start, end, [partition]) for partition in chosen), default=0.0)


def _longest_gap(moments: list[float]) -> float:
    return max(later - earlier for earlier, later in pairwise(moments))


class Observations:
    """Observations of all groups."""

    def __init__(self, stage: Stage) -> None:
        self.stage = stage
        # acknowledged records of each partition; they have the offsets from 0 on
        self.produced = [0] * stage.partitions
        self.groups: dict[str, GroupObservations] = {}
        self.lines: deque[str] = deque(maxlen=LINES_KEPT)  # log lines of the broker about groups
        self.wrong: list[str] = []
        self.on_line: Callable[[str], None] = lambda text: None
        self._rung = asyncio.Event()

    def group(self, group_id: str) -> GroupObservations:
        return self.groups.setdefault(group_id, GroupObservations(self.stage.partitions))

    def hear_broker(self, text: str, values: dict[str, Any]) -> None:
        text = visible(text)
        if values["level"] == "error":
            self.wrong.append(f"the broker logged: {text.splitlines()[0]}")
        if "to" in values:
            group = self.group(values["group"])
            group.state, group.generation = values["to"], values["generation"]
            group.changed_at = time.monotonic()
            if values["to"] == "Stable":
                group.assignments[values["generation"]] = self.stage.owners(values["group"])
        self.lines.append(text)
        self.on_line(text)
        self._rung.set()

    def hear_worker(self, name: str, group_id: str, report: Report) -> None:
        match report:
            case Consumed():
                self.group(group_id).note(name, report)
            case Revoked(at, partitions):
                self.group(group_id).revocations.append((at, name, partitions))
            case Produced(_, ranges):
                self._note_produced(ranges)
            case Wrong(text):
                self.wrong.append(f"{name}: {text}")
            case _:
                pass  # it changes the actor only
        self._rung.set()

    def _note_produced(self, ranges: list[Range]) -> None:
        for partition, first, last in ranges:
            if first != self.produced[partition]:
                self.wrong.append(f"partition {partition}: record {first} was acknowledged after {last}")
            self.produced[partition] = last + 1

    async def until(self, condition: Callable[[], bool], within_s: float, expectation: str) -> None:
        """Wait for a condition.

        Raises:
            PlayError: Timeout; `expectation` names the condition.
        """
        try:
            async with asyncio.timeout(within_s):
                while not condition():
                    self._rung.clear()
                    await self._rung.wait()
        except TimeoutError:
            raise PlayError(f"{expectation}: not within {within_s:g} s") from None
