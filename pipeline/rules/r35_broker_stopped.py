"""R35: most groups of a cluster stop at the same time: it was the broker, or the way to it, and not they.

Looks at all groups together. It rests on their pauses, and speaks about each of them.
"""

from __future__ import annotations

import heapq
import itertools
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from kohort.pipeline.rules.finding import LIKELY, WARNING, Finding, listed_others, moment, seconds

ID, TITLE = "R35", "The group stopped together with others"
GROUPS = 3
SHARE = 0.8
TOGETHER_MS = 2_000
"""So long all of them stood still at once."""
AFTERWARDS_MS = 60_000
"""Sessions that end, and members that leave or come back so soon after that, are its doing."""
DOUBTED = ("R01", "R02", "R03", "R05", "R20", "R26", "R37")
"""Rules that would blame a member for it."""

Stretch = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Outage:
    """A time in which most groups that commit regularly did not commit. of: how many of those there were."""

    start_ms: int
    end_ms: int
    groups: tuple[str, ...]
    of: int


def outages(pauses: Mapping[str, Sequence[Stretch]], lived: Mapping[str, Stretch]) -> list[Outage]:
    """Find the times in which most groups paused, in order.

    lived: From the first to the last commit of each group that commits regularly.
    """
    edges: dict[int, list[tuple[str, int]]] = {}
    for group, of_group in pauses.items():
        for begin, stop in of_group:
            edges.setdefault(begin, []).append((group, 1))
            edges.setdefault(stop, []).append((group, -1))
    paused: Counter[str] = Counter()
    alive = _Alive(lived)
    found: list[Outage] = []
    for start, end in itertools.pairwise(sorted(edges)):
        for group, change in edges[start]:
            paused[group] += change
            if not paused[group]:
                del paused[group]
        if end - start < TOGETHER_MS:
            continue
        count = alive.count(start, end)
        if len(paused) < GROUPS or len(paused) < SHARE * count:
            continue
        still = {group for group in paused if group in lived and lived[group][0] <= start and end <= lived[group][1]}
        if len(still) < GROUPS or len(still) < SHARE * count:
            continue
        if found and found[-1].end_ms == start:
            last_one = found.pop()
            start, still = last_one.start_ms, still | set(last_one.groups)
        found.append(Outage(start, end, tuple(sorted(still)), count))
    return found


class _Alive:
    """Counts the groups that lived through stretches of time, which must be counted in order."""

    def __init__(self, lived: Mapping[str, Stretch]) -> None:
        self._coming = sorted(lived.values(), reverse=True)
        self._ends: list[int] = []

    def count(self, start_ms: int, end_ms: int) -> int:
        """Return how many groups lived from start_ms to end_ms."""
        while self._coming and self._coming[-1][0] <= start_ms:
            heapq.heappush(self._ends, self._coming.pop()[1])
        while self._ends and self._ends[0] < end_ms:
            heapq.heappop(self._ends)
        return len(self._ends)


def findings(mine: Sequence[Outage], group: str) -> list[Finding]:
    """Make the findings of one group. mine: The outages that it is in."""
    first, longest = mine[0], max(mine, key=lambda each: each.end_ms - each.start_ms)
    others = listed_others(longest.groups, group, 3)
    return [
        Finding(
            ID,
            TITLE,
            WARNING,
            LIKELY,
            f"from {moment(longest.start_ms)} UTC on, for {seconds(longest.end_ms - longest.start_ms)}, this group and "
            f"{len(longest.groups) - 1} of {longest.of - 1} others ({others}) committed nothing: their broker, or the way to it, "
            "stood still",
            "Look at the brokers and the network at that time, not at the members: long garbage collections, full disks, a "
            "restart, a lost connection. Sessions that expired then were lost by that.",
            first.start_ms,
            mine[-1].end_ms,
            [],
            {
                "times": len(mine),
                "longest_ms": longest.end_ms - longest.start_ms,
                "moments_ms": [outage.start_ms for outage in mine],
                "of": longest.of,
            },
            group,
        )
    ]


def explains(mine: Sequence[Outage], rule: str, start_ms: int, end_ms: int) -> bool:
    """Return whether what a rule blames a member for began in an outage or right after it, and ended soon.

    mine: The outages that the group is in.
    """
    return rule in DOUBTED and any(
        outage.start_ms <= start_ms and end_ms <= outage.end_ms + AFTERWARDS_MS for outage in mine
    )
