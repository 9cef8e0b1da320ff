"""What is known of the performance: everything that processes report, and what the broker says of its groups."""

from __future__ import annotations

import asyncio
import time
from bisect import bisect_left
from collections import defaultdict, deque
from collections.abc import Callable
from itertools import pairwise
from typing import Any

from kohort.demo.reports import Consumed, Produced, Range, Report, Revoked, Wrong
from kohort.demo.stage import Stage
from kohort.protocol.visible import visible

LINES_KEPT = 200


class PlayError(Exception):
    """The play cannot go on. The text is one sentence."""


class GroupObservations:
    """One group: who owned what in which generation, and which record was read when by whom."""

    def __init__(self, partitions: int) -> None:
        self.state = "Empty"
        self.generation = 0
        self.assignments: dict[int, dict[str, list[int]]] = {}
        """Generation to what each member was given in it, by the broker's account."""
        self.changed_at = 0.0
        """When the broker last moved the group to another state."""
        self.readers: dict[tuple[int, int], set[str]] = defaultdict(set)
        """Generation and partition to who read it, by the clients' account."""
        self.times_read = [bytearray() for _ in range(partitions)]
        """How often each record was read, up to 255."""
        self.read_at: list[list[float]] = [[] for _ in range(partitions)]
        self.records_at: list[tuple[float, int]] = []
        """When how many records were reported."""
        self.revocations: list[tuple[float, str, list[int]]] = []

    def note(self, name: str, consumed: Consumed) -> None:
        """A member has read records."""
        for partition, first, last in consumed.ranges:
            self.readers[consumed.generation, partition].add(name)
            self.read_at[partition].append(consumed.at)
            count = self.times_read[partition]
            count.extend(bytes(max(0, last + 1 - len(count))))
            for offset in range(first, last + 1):
                count[offset] = min(count[offset] + 1, 255)
        self.records_at.append((consumed.at, sum(last - first + 1 for _, first, last in consumed.ranges)))

    def position(self, partition: int) -> int:
        """The first offset that nobody has read yet."""
        count = self.times_read[partition]
        unread = count.find(0)
        return len(count) if unread < 0 else unread

    def read_again(self) -> int:
        """Readings beyond the first."""
        return sum(sum(count) - len(count) + count.count(0) for count in self.times_read)

    def rate(self, now: float) -> float:
        """Records per second, over the last one."""
        recent = self.records_at[bisect_left(self.records_at, (now - 1.0, 0)) :]
        return float(sum(count for _, count in recent))

    def reports(self, partition: int, now: float) -> int:
        """How often somebody read from a partition in the last second."""
        return len(self.read_at[partition]) - bisect_left(self.read_at[partition], now - 1.0)

    def rebalances(self, since_generation: int) -> int:
        """How many generations with members have begun after that one."""
        return sum(generation > since_generation for generation in self.assignments)

    def silence(self, start: float, end: float, partitions: list[int] | None = None) -> float:
        """The longest time between two moments in which none of these partitions (None: of all) was read."""
        chosen = range(len(self.read_at)) if partitions is None else partitions
        moments = sorted(at for partition in chosen for at in self.read_at[partition] if start < at < end)
        return _longest_gap([start, *moments, end])

    def longest_wait(self, start: float, end: float, partitions: list[int] | None = None) -> float:
        """The longest time in which any one of these partitions was not read."""
        chosen = range(len(self.read_at)) if partitions is None else partitions
        return max((self.silence(start, end, [partition]) for partition in chosen), default=0.0)


def _longest_gap(moments: list[float]) -> float:
    return max(later - earlier for earlier, later in pairwise(moments))


class Observations:
    """Everything."""

    def __init__(self, stage: Stage) -> None:
        self.stage = stage
        self.produced = [0] * stage.partitions
        """How many records of each partition the broker has acknowledged; they are its offsets from 0 on."""
        self.groups: dict[str, GroupObservations] = {}
        self.lines: deque[str] = deque(maxlen=LINES_KEPT)
        """What the broker's log said of groups."""
        self.wrong: list[str] = []
        self.on_line: Callable[[str], None] = lambda text: None
        self._rung = asyncio.Event()

    def group(self, group_id: str) -> GroupObservations:
        """The group of that name, watched from now on if it was not."""
        return self.groups.setdefault(group_id, GroupObservations(self.stage.partitions))

    def hear_broker(self, text: str, values: dict[str, Any]) -> None:
        """A line of the broker's log."""
        text = visible(text)
        if values["level"] == "error":
            self.wrong.append(f"the broker says: {text.splitlines()[0]}")
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
        """A report of a process."""
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

    async def until(self, condition: Callable[[], bool], within_s: float, what: str) -> None:
        """Waits for something to be so. Raises PlayError when it takes too long; `what` says what was waited for."""
        try:
            async with asyncio.timeout(within_s):
                while not condition():
                    self._rung.clear()
                    await self._rung.wait()
        except TimeoutError:
            raise PlayError(f"{what}: not within {within_s:g} s") from None
