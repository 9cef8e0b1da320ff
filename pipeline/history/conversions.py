"""A group's conversions between the protocols: start, end and cost of each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kohort.pipeline.history.inputs import Generation
from kohort.pipeline.history.rebalance import Rebalance

CLASSIC, CONSUMER = "classic", "consumer"
SAME_MS = 2000  # maximum time between an event and the records of one conversion


@dataclass(frozen=True, slots=True)
class Migration:
    """A period from the first member with the other protocol to the last member that changed.

    Attributes:
        to: "consumer" or "classic".
        left: Members that had not changed when the next migration began, or at the end.
        converted_ms: Time at which the group was converted: its first consumer member joined, or its last one left.
        rebalances: Rebalances that began during the migration.
    """

    to: str
    start_ms: int
    converted_ms: int
    end_ms: int
    left: tuple[str, ...]
    rebalances: tuple[Rebalance, ...]

    @property
    def partition_s(self) -> float | None:
        """Upper limit of the seconds without a reader, summed over partitions, or None if owners are unknown."""
        if not any(r.before.owners or r.after.owners for r in self.rebalances):
            return None
        return sum(r.cost.unavailable_partition_s[1] for r in self.rebalances)

    @property
    def delayed_records(self) -> int:
        return sum(r.cost.delayed_records for r in self.rebalances)


def migrations(
    generations: Sequence[Generation],
    rebalances: Sequence[Rebalance],
    event_conversions: Sequence[tuple[int, str]],
    until_ms: int,
) -> list[Migration]:
    """Return all migrations of a group in order, from settled generations and epochs and the rebalances between them.

    Args:
        event_conversions: Conversions from events: (time, protocol). Records show most of them, too.
    """
    conversions = [(r.begin_ms, CONSUMER if r.is_epoch else CLASSIC) for r in rebalances if r.kind == "conversion"]
    for ts_ms, to in event_conversions:
        if not any(abs(ts_ms - ts) < SAME_MS and to == protocol for ts, protocol in conversions):
            conversions.append((ts_ms, to))
    conversions.sort()
    results = []
    for number, (converted_ms, to) in enumerate(conversions):
        after_ms = conversions[number - 1][0] if number else 0
        before_ms = conversions[number + 1][0] if number + 1 < len(conversions) else until_ms + 1
        start_ms = converted_ms if to == CONSUMER else _mixed_since(generations, after_ms, converted_ms)
        end_ms, unchanged = _finished(generations, converted_ms, before_ms, to, until_ms)
        inside = tuple(r for r in rebalances if start_ms <= r.begin_ms <= end_ms and r.before.size)
        results.append(Migration(to, start_ms, converted_ms, end_ms, unchanged, inside))
    return results


def _mixed_since(generations: Sequence[Generation], after_ms: int, converted_ms: int) -> int:
    """Return the time since which a consumer group that was converted back had classic members."""
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
    """Return when all members used the new protocol, and the members that did not change."""
    unchanged: tuple[str, ...] = ()
    for generation in generations:
        if not converted_ms < generation.stable_ms < before_ms:
            continue
        unchanged = tuple(sorted(m.name for m in generation.members.values() if m.speaks == CLASSIC and to == CONSUMER))
        if not unchanged:
            return generation.stable_ms, ()
    return min(before_ms - 1, until_ms), unchanged
