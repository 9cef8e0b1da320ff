"""A group's moves from one protocol to the other: when each began and ended, and what it cost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kohort.pipeline.history.inputs import Generation
from kohort.pipeline.history.rebalance import Rebalance

CLASSIC, CONSUMER = "classic", "consumer"
SAME_MS = 2000
"""An event and the records of one conversion are not further apart."""


@dataclass(frozen=True, slots=True)
class Migration:
    """From the first member that spoke the other protocol to the last one that changed.

    to: consumer or classic. left: members that had not changed when the next migration began, or at the end.
    converted_ms: when the group itself was converted: its first consumer member joined, or its last one left.
    rebalances: those that began within it.
    """

    to: str
    start_ms: int
    converted_ms: int
    end_ms: int
    left: tuple[str, ...]
    rebalances: tuple[Rebalance, ...]

    @property
    def partition_s(self) -> float | None:
        """Seconds in which partitions had no reader, summed over partitions; at most. None: owners are not known."""
        if not any(r.before.owners or r.after.owners for r in self.rebalances):
            return None
        return sum(r.cost.unavailable_partition_s[1] for r in self.rebalances)

    @property
    def delayed_records(self) -> int:
        return sum(r.cost.delayed_records for r in self.rebalances)


def migrations(
    generations: Sequence[Generation],
    rebalances: Sequence[Rebalance],
    told: Sequence[tuple[int, str]],
    until_ms: int,
) -> list[Migration]:
    """All of a group, in their order, from settled generations and epochs and the rebalances between them.

    told: conversions that events tell of: when, and to which protocol. Records tell of most of them, too.
    """
    conversions = [(r.begin_ms, CONSUMER if r.is_epoch else CLASSIC) for r in rebalances if r.kind == "conversion"]
    for ts_ms, to in told:
        if not any(abs(ts_ms - known) < SAME_MS and to == known_to for known, known_to in conversions):
            conversions.append((ts_ms, to))
    conversions.sort()
    found = []
    for number, (converted_ms, to) in enumerate(conversions):
        after_ms = conversions[number - 1][0] if number else 0
        before_ms = conversions[number + 1][0] if number + 1 < len(conversions) else until_ms + 1
        start_ms = converted_ms if to == CONSUMER else _mixed_since(generations, after_ms, converted_ms)
        end_ms, left = _finished(generations, converted_ms, before_ms, to, until_ms)
        inside = tuple(r for r in rebalances if start_ms <= r.begin_ms <= end_ms and r.before.size)
        found.append(Migration(to, start_ms, converted_ms, end_ms, left, inside))
    return found


def _mixed_since(generations: Sequence[Generation], after_ms: int, converted_ms: int) -> int:
    """Since when there have been classic members in a consumer group that was converted back."""
    since = converted_ms
    for generation in reversed(generations):
        if generation.kind != CONSUMER or not after_ms <= generation.stable_ms <= converted_ms:
            continue
        if not any(member.speaks == CLASSIC for member in generation.members.values()):
            break
        since = min(since, generation.stable_ms)
    return since


def _finished(
    generations: Sequence[Generation], converted_ms: int, before_ms: int, to: str, until_ms: int
) -> tuple[int, tuple[str, ...]]:
    """When all members spoke the protocol that the group moved to; and who did not in the end."""
    left: tuple[str, ...] = ()
    for generation in generations:
        if not converted_ms < generation.stable_ms < before_ms:
            continue
        left = tuple(sorted(m.name for m in generation.members.values() if m.speaks == CLASSIC and to == CONSUMER))
        if not left:
            return generation.stable_ms, ()
    return min(before_ms - 1, until_ms), left
