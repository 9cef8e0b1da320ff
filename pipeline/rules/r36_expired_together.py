"""R36: members of several groups lose their sessions at the same moment: what they have in common failed, not they.

Looks at all groups together. A network, a broker that stood still, or one host whose processes all paused look alike.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kohort.pipeline.rules.finding import LIKELY, WARNING, Finding, listed, moment, seconds, several

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


@dataclass(frozen=True, slots=True)
class Wave:
    """Sessions that ended together."""

    expiries: tuple[Expiry, ...]

    @property
    def start_ms(self) -> int:
        return self.expiries[0].ms

    @property
    def end_ms(self) -> int:
        return self.expiries[-1].ms

    @property
    def groups(self) -> tuple[str, ...]:
        return tuple(sorted({each.group for each in self.expiries}))


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


def findings(found: Sequence[Wave], group: str) -> list[Finding]:
    """What is to be said of one group."""
    mine = [wave for wave in found if group in wave.groups]
    if not mine:
        return []
    worst = max(mine, key=lambda wave: len(wave.expiries))
    own = sorted({each.client for wave in mine for each in wave.expiries if each.group == group})
    others = [name for name in worst.groups if name != group]
    hosts = {each.host for each in worst.expiries}
    where = "the network between them and the broker, the broker itself, or the hosts they run on"
    if len(hosts) == 1 and hosts != {""}:
        where = f"the host {hosts.pop()}, on which all of them run, the network, or the broker"
    return [
        Finding(
            ID,
            TITLE,
            WARNING,
            LIKELY,
            f"at {moment(worst.start_ms)} UTC, within {seconds(max(1, worst.end_ms - worst.start_ms))}, "
            f"{several(len(worst.expiries), 'member')} of {len(worst.groups)} groups lost their sessions, {listed(own)} among "
            f"them (other groups: {listed(others, 3)}): what they have in common failed, {where}",
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


def explains(found: Sequence[Wave], group: str, rule: str, start_ms: int, end_ms: int) -> bool:
    """Whether what a rule blames a member for began with such a wave, and was over soon."""
    return rule in DOUBTED and any(
        group in wave.groups and wave.start_ms - AFTERWARDS_MS <= start_ms and end_ms <= wave.end_ms + AFTERWARDS_MS
        for wave in found
    )
