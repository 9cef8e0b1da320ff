"""R36: sessions of several groups expire at the same time, because of something that their members share.

Examines all groups together. A network, a paused broker, or one host whose processes all paused look the same.
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
# rules that would blame a member for it, or that report the same with fewer details
DOUBTED = ("R03", "R05", "R26", "R35", "R37")


@dataclass(frozen=True, slots=True, order=True)
class Expiry:
    """Session ended by the coordinator; `host` is set if the log contains it."""

    ms: int
    group: str
    client: str
    host: str = ""


@dataclass(frozen=True)
class Wave:
    """Sessions that expired together. Derived values are cached, because each group needs them."""

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
        """Clients of each group."""
        clients: dict[str, list[str]] = {}
        for expiry in self.expiries:
            clients.setdefault(expiry.group, []).append(expiry.client)
        return clients

    @cached_property
    def hosts(self) -> set[str]:
        return {expiry.host for expiry in self.expiries}


def waves(expiries: Sequence[Expiry]) -> list[Wave]:
    """Group sessions of enough groups that expired soon after each other, in order."""
    grouped: list[Wave] = []
    some: list[Expiry] = []
    for expiry in [*sorted(expiries), None]:
        if expiry is not None and (not some or expiry.ms - some[-1].ms <= TOGETHER_MS):
            some.append(expiry)
            continue
        wave = Wave(tuple(some))
        if len(some) >= MEMBERS and len(wave.groups) >= GROUPS:
            grouped.append(wave)
        some = [expiry] if expiry is not None else []
    return grouped


def findings(mine: Sequence[Wave], group: str) -> list[Finding]:
    """Make the findings of one group, which is in all the waves `mine`."""
    worst = max(mine, key=lambda wave: len(wave.expiries))
    own = sorted({client for wave in mine for client in wave.clients[group]})
    other_groups, hosts = listed_others(worst.groups, group, 3), worst.hosts
    suspects = "the network between them and the broker, the broker itself, or the hosts they run on"
    if len(hosts) == 1 and hosts != {""}:
        suspects = f"the host {next(iter(hosts))}, on which all these members run, the network, or the broker"
    return [
        Finding(
            ID,
            TITLE,
            WARNING,
            LIKELY,
            f"at {moment(worst.start_ms)} UTC, within {seconds(max(1, worst.end_ms - worst.start_ms))}, "
            f"{several(len(worst.expiries), 'member')} of {len(worst.groups)} groups lost their sessions, including {listed(own)} "
            f"(other groups: {other_groups}): what they share failed, {suspects}",
            "Check the network, the brokers and the client hosts at that time and in the session timeout before it: a "
            "lost link, a long garbage collection, suspended hosts. The members themselves are not the cause.",
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
    """Return whether a finding that blames a member began with a wave, and ended soon."""
    return rule in DOUBTED and any(
        wave.start_ms - AFTERWARDS_MS <= start_ms and end_ms <= wave.end_ms + AFTERWARDS_MS for wave in mine
    )
