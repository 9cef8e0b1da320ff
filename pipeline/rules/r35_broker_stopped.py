"""R35: most groups of a cluster stop at the same time: it was the broker, or the way to it, and not they.

Looks at all groups together. It rests on their pauses, and speaks about each of them.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from kohort.pipeline.rules.finding import LIKELY, WARNING, Finding, listed, moment, seconds

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
    """By time. lived: from the first to the last commit of each group that commits regularly."""
    edges = sorted({ms for of_group in pauses.values() for stretch in of_group for ms in stretch})
    found: list[Outage] = []
    for start, end in itertools.pairwise(edges):
        if end - start < TOGETHER_MS:
            continue
        alive = {group for group, (first, last) in lived.items() if first <= start and end <= last}
        still = {g for g in alive if any(a <= start and end <= b for a, b in pauses.get(g, ()))}
        if len(still) < GROUPS or len(still) < SHARE * len(alive):
            continue
        if found and found[-1].end_ms == start:
            last_one = found.pop()
            start, still = last_one.start_ms, still | set(last_one.groups)
        found.append(Outage(start, end, tuple(sorted(still)), len(alive)))
    return found


def findings(found: Sequence[Outage], group: str) -> list[Finding]:
    """What is to be said of one group."""
    mine = [outage for outage in found if group in outage.groups]
    if not mine:
        return []
    first, longest = mine[0], max(mine, key=lambda each: each.end_ms - each.start_ms)
    others = [name for name in longest.groups if name != group]
    return [
        Finding(
            ID,
            TITLE,
            WARNING,
            LIKELY,
            f"from {moment(longest.start_ms)} UTC on, for {seconds(longest.end_ms - longest.start_ms)}, this group and "
            f"{len(others)} of {longest.of - 1} others ({listed(others, 3)}) committed nothing: their broker, or the way to it, "
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


def explains(found: Sequence[Outage], group: str, rule: str, start_ms: int, end_ms: int) -> bool:
    """Whether what a rule blames a member for began in an outage of its group, or right after it, and was over soon."""
    return rule in DOUBTED and any(
        group in outage.groups and outage.start_ms <= start_ms and end_ms <= outage.end_ms + AFTERWARDS_MS
        for outage in found
    )
