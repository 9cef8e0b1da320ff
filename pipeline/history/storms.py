"""Storms: rebalances in such quick succession that the group hardly works."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from kohort.pipeline.history.rebalance import Rebalance

CLOSE_MS = 60_000
CHAIN = 3
MANY, WINDOW_MS = 5, 600_000
SHARE = 0.2
START_MS = 30_000


@dataclass(slots=True)
class Storm:
    storm_id: str
    rebalances: list[Rebalance]

    @property
    def start_ms(self) -> int:
        return min(r.begin_ms for r in self.rebalances)

    @property
    def end_ms(self) -> int:
        return max(r.stable_ms for r in self.rebalances)

    @property
    def busy_ms(self) -> int:
        """Time in which at least one of them was in progress: epochs of the consumer protocol overlap."""
        busy_ms, until_ms = 0, self.start_ms
        for r in sorted(self.rebalances, key=lambda r: r.begin_ms):
            busy_ms += max(0, r.stable_ms - max(r.begin_ms, until_ms))
            until_ms = max(until_ms, r.stable_ms)
        return busy_ms

    @property
    def share(self) -> float:
        return self.busy_ms / max(1, self.end_ms - self.start_ms)

    @property
    def is_dense(self) -> bool:
        """Whether ten minutes of it had five rebalances, or were spent in rebalances for a fifth of their time."""
        return _dense(self.rebalances)

    @property
    def main_cause(self) -> str:
        return Counter(r.why.cause for r in self.rebalances).most_common(1)[0][0]

    @property
    def main_client(self) -> str | None:
        top = Counter(r.why.trigger_client for r in self.rebalances if r.why.trigger_client).most_common(1)
        return top[0][0] if top else None


def find_storms(group_id: str, rebalances: list[Rebalance]) -> list[Storm]:
    """Return chains of at least three rebalances less than a minute apart; five in ten minutes; a fifth of ten minutes.

    Follow-ups, the ramp-up of a starting group and the leaves of a group that shuts down don't count, and what happens
    only in the first half minute of a group is left out.
    """
    counted = [r for r in rebalances if r.outcome == "completed" and r.kind not in ("initial", "followup")]
    counted = [r for r in counted if not in_ramp_up(r, rebalances) and not in_shut_down(r, rebalances)]
    storms: list[Storm] = []
    for chain in _chains(counted):
        later = [r for r in chain if not in_start(r, rebalances)]
        if len(later) >= CHAIN or _dense(later):
            storms.append(Storm(f"{group_id}/{chain[0].begin_ms}", chain))
    return storms


def _chains(rebalances: list[Rebalance]) -> list[list[Rebalance]]:
    chains: list[list[Rebalance]] = []
    for r in rebalances:
        if chains and (r.begin_ms - chains[-1][-1].stable_ms < CLOSE_MS or _joins_window(chains[-1], r)):
            chains[-1].append(r)
        else:
            chains.append([r])
    return chains


def _joins_window(chain: list[Rebalance], r: Rebalance) -> bool:
    return len(chain) >= MANY - 1 and r.begin_ms - chain[-(MANY - 1)].begin_ms <= WINDOW_MS


def _dense(chain: list[Rebalance]) -> bool:
    for n in range(len(chain)):
        inside = [r for r in chain[n:] if r.begin_ms - chain[n].begin_ms <= WINDOW_MS]
        if len(inside) >= MANY or sum(max(0, r.stable_ms - r.begin_ms) for r in inside) >= SHARE * WINDOW_MS:
            return True
    return False


def in_start(r: Rebalance, rebalances: list[Rebalance]) -> bool:
    """Return whether a group that began empty has just started: its clients still find out about each other.

    They subscribe again, leave and rejoin, or receive the topics' metadata.
    """
    start = start_before(r, rebalances)
    return start is not None and r.begin_ms - rebalances[start].stable_ms < START_MS


def start_before(r: Rebalance, rebalances: list[Rebalance]) -> int | None:
    """Return the index of the last rebalance up to this one that began with an empty group, or None."""
    starts = (n for n, other in enumerate(rebalances) if other.kind == "initial" and other.number <= r.number)
    return max(starts, default=None)


def in_ramp_up(r: Rebalance, rebalances: list[Rebalance]) -> bool:
    """Return whether a group that began empty has only grown so far, in steps less than a minute apart.

    If its start is unknown, the first known rebalance may be part of the ramp-up.
    """
    start = start_before(r, rebalances) or 0
    last_ms = rebalances[start].stable_ms
    for other in rebalances[start + 1 :]:
        if (
            other.begin_ms - last_ms > CLOSE_MS
            or other.left
            or other.evicted
            or not (other.joined or other.kind == "followup")
        ):
            return False
        last_ms = other.stable_ms
        if other is r:
            return True
    return False


def in_shut_down(r: Rebalance, rebalances: list[Rebalance]) -> bool:
    """Return whether this is a leave of a group that shut down: no member rejoined before it was empty."""
    for other in rebalances:
        if other.number < r.number:
            continue
        if other.joined and other.number > r.number:
            return False
        if other is r and (r.joined or not r.left):
            return False
        if other.outcome == "empty":
            return other.stable_ms - r.begin_ms < 10 * CLOSE_MS
    return False
