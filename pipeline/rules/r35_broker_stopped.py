"""R35: most groups of a cluster pause at the same time, because of the broker or the network to it.

Examines all groups together, based on their pauses, and reports each of them.
"""

from __future__ import annotations

import heapq
import itertools
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from kohort.pipeline.rules.finding import LIKELY, WARNING, Finding, listed_others, moment, seconds

ID, TITLE = "R35", "The group paused together with others"
GROUPS = 3
SHARE = 0.8
TOGETHER_MS = 2_000  # minimum time in which all of the groups paused
AFTERWARDS_MS = 60_000  # sessions that end, and members that leave or return, within this time are consequences
DOUBTED = ("R01", "R02", "R03", "R05", "R20", "R26", "R37")  # rules that would blame a member for it

Stretch = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Outage:
    """Period in which most groups with regular commits did not commit; `of` is the number of such groups."""

    start_ms: int
    end_ms: int
    groups: tuple[str, ...]
    of: int


def outages(pauses: Mapping[str, Sequence[Stretch]], lived: Mapping[str, Stretch]) -> list[Outage]:
    """Find the periods in which most groups paused, in order.

    Args:
        pauses: Pauses by group.
        lived: First to last commit of each group that commits regularly.
    """
    edges: dict[int, list[tuple[str, int]]] = {}
    for group, of_group in pauses.items():
        for begin, stop in of_group:
            edges.setdefault(begin, []).append((group, 1))
            edges.setdefault(stop, []).append((group, -1))
    paused: Counter[str] = Counter()
    alive = _Alive(lived)
    periods: list[Outage] = []
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
        if periods and periods[-1].end_ms == start:
            last_one = periods.pop()
            start, still = last_one.start_ms, still | set(last_one.groups)
        periods.append(Outage(start, end, tuple(sorted(still)), count))
    return periods


class _Alive:
    """Counter of the groups that existed throughout a period; periods must be in order."""

    def __init__(self, lived: Mapping[str, Stretch]) -> None:
        self._coming = sorted(lived.values(), reverse=True)
        self._ends: list[int] = []

    def count(self, start_ms: int, end_ms: int) -> int:
        while self._coming and self._coming[-1][0] <= start_ms:
            heapq.heappush(self._ends, self._coming.pop()[1])
        while self._ends and self._ends[0] < end_ms:
            heapq.heappop(self._ends)
        return len(self._ends)


def findings(mine: Sequence[Outage], group: str) -> list[Finding]:
    """Make the findings of one group, which is in all the outages `mine`."""
    first, longest = mine[0], max(mine, key=lambda outage: outage.end_ms - outage.start_ms)
    other_groups = listed_others(longest.groups, group, 3)
    return [
        Finding(
            ID,
            TITLE,
            WARNING,
            LIKELY,
            f"from {moment(longest.start_ms)} UTC on, for {seconds(longest.end_ms - longest.start_ms)}, this group and "
            f"{len(longest.groups) - 1} of {longest.of - 1} others ({other_groups}) committed nothing: their broker, or the network to it, "
            "stood still",
            "Check the brokers and the network at that time, not the members: long garbage collections, full disks, a "
            "restart, a lost connection. Sessions that expired then are a consequence.",
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
    """Return whether a finding that blames a member began during or right after an outage, and ended soon."""
    return rule in DOUBTED and any(
        outage.start_ms <= start_ms and end_ms <= outage.end_ms + AFTERWARDS_MS for outage in mine
    )
