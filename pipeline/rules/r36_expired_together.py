"""R36: members of several groups lose their sessions at the same moment: what they have in common failed, not they.

Looks at all groups together. A network, a broker that stood still, or one host whose processes all paused look alike.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from kohort.pipeline.rules.finding import LIKELY, WARNING, Finding, listed, listed_others, moment, seconds, several

ID, TITLE = "R36", "Sessions of several groups expired together"
GROUPS, MEMBERS = 3, 5
TOGETHER_MS = 5_000
AFTERWARDS_MS = 60_000
DOUBTED = ("R03", "R05", "R26", "R35", "R37")
"""Rules that would blame a member for it, or that say the same with less."""


@dataclass(frozen=True, slots=True, order=True)
class Expiry:
    """A session that the coordinator ended. host: as far as the log tells it."""

    ms: int
    group: str
    client: str
    host: str = ""


@dataclass(frozen=True)
class Wave:
    """Sessions that ended together. What follows from them is computed once: each of their groups needs it."""

    expiries: tuple[Expiry, ...]

    @property
    def start_ms(self) -> int:
        return self.expiries[0].ms

    @property
    def end_ms(self) -> int:
        return self.expiries[-1].ms

    @cached_property
    def groups(self) -> tuple[str, ...]:
        return tuple(sorted(self.clients))

    @cached_property
    def clients(self) -> dict[str, list[str]]:
        """The clients of each group."""
        found: dict[str, list[str]] = {}
        for each in self.expiries:
            found.setdefault(each.group, []).append(each.client)
        return found

    @cached_property
    def hosts(self) -> set[str]:
        return {each.host for each in self.expiries}


def waves(expiries: Sequence[Expiry]) -> list[Wave]:
    """By time: stretches in which sessions of enough groups ended, one soon after the other."""
    found: list[Wave] = []
    some: list[Expiry] = []
    for each in [*sorted(expiries), None]:
        if each is not None and (not some or each.ms - some[-1].ms <= TOGETHER_MS):
            some.append(each)
            continue
        wave = Wave(tuple(some))
        if len(some) >= MEMBERS and len(wave.groups) >= GROUPS:
            found.append(wave)
        some = [each] if each is not None else []
    return found


def findings(mine: Sequence[Wave], group: str) -> list[Finding]:
    """Make the findings of one group. mine: The waves that it is in."""
    worst = max(mine, key=lambda wave: len(wave.expiries))
    own = sorted({client for wave in mine for client in wave.clients[group]})
    others, hosts = listed_others(worst.groups, group, 3), worst.hosts
    where = "the network between them and the broker, the broker itself, or the hosts they run on"
    if len(hosts) == 1 and hosts != {""}:
        where = f"the host {next(iter(hosts))}, on which all of them run, the network, or the broker"
    return [
        Finding(
            ID,
            TITLE,
            WARNING,
            LIKELY,
            f"at {moment(worst.start_ms)} UTC, within {seconds(max(1, worst.end_ms - worst.start_ms))}, "
            f"{several(len(worst.expiries), 'member')} of {len(worst.groups)} groups lost their sessions, {listed(own)} among "
            f"them (other groups: {others}): what they have in common failed, {where}",
            "Look at the network, at the brokers and at the client hosts at that time and in the session timeout before it: a "
            "lost link, a long garbage collection, hosts that were suspended. The members themselves are not to blame.",
            mine[0].start_ms,
            mine[-1].end_ms,
            own,
            {
                "times": len(mine),
                "expiries": len(worst.expiries),
                "moments_ms": [wave.start_ms for wave in mine],
                "longest_ms": worst.end_ms - worst.start_ms,
                "of": len(worst.groups),
            },
            group,
        )
    ]


def explains(mine: Sequence[Wave], rule: str, start_ms: int, end_ms: int) -> bool:
    """Return whether what a rule blames a member for began with such a wave, and ended soon.

    mine: The waves that the group is in.
    """
    return rule in DOUBTED and any(
        wave.start_ms - AFTERWARDS_MS <= start_ms and end_ms <= wave.end_ms + AFTERWARDS_MS for wave in mine
    )
