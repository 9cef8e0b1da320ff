"""Time for which a whole group waited for members at join barriers, as part of the finding that names the reason."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from kohort.pipeline.history.group_analysis import GroupAnalysis
from kohort.pipeline.history.rebalance import Rebalance
from kohort.pipeline.rules.evidence import Evidence
from kohort.pipeline.rules.finding import seconds, times

LONG_MS, SHORTEST_MS = 5000, 1000
SHARE_OF_TIMEOUT = 0.5
LONG_STOP_MS = 60_000  # stop of the whole group from which a finding is critical
SHARE_OF_STOP = 0.03  # from this difference on between a stop and the wait in it, the reason is stated
TIMES_USUAL = 3  # a silence must be longer than this many usual steps of the group to count as a stop
BEFORE_MS = 10_000  # a silence that begins this long before a rebalance or a revocation is not its consequence
_FOR_THE_DEAD = ("session_expired", "sync_timeout", "epoch_timeout", "barrier_timeout")


@dataclass(frozen=True, slots=True)
class Waits:
    """Rebalances whose barrier waited for the same members, and what their waits cost.

    Attributes:
        silences: Periods in which no partition of the group advanced, as (from, to).
        usual_ms: Usual time between two advances, which is part of each silence.
    """

    rebalances: list[Rebalance]
    silences: list[tuple[int, int]]
    usual_ms: float

    @property
    def lengths_ms(self) -> list[int]:
        return [r.prepare_ms for r in self.rebalances]

    @property
    def total_ms(self) -> int:
        return sum(self.lengths_ms)

    @property
    def longest_ms(self) -> int:
        return max(self.lengths_ms, default=0)

    @property
    def stopped_ms(self) -> int:
        """Upper bound of the time in which the whole group stood still: it is measured between two commits."""
        return sum(end - start for start, end in self.silences)

    @property
    def is_eager(self) -> bool:
        return any(r.eager is not False for r in self.rebalances)

    @property
    def is_critical(self) -> bool:
        return self.is_eager and self.longest_ms >= LONG_STOP_MS

    @property
    def text(self) -> str:
        """Clause about the waits, or "" without any."""
        if not self.rebalances:
            return ""
        count = len(self.rebalances)
        text = f"; the whole group waited {seconds(self.total_ms)} for that"
        text += f" ({times(count)}, longest {seconds(self.longest_ms)})" if count > 1 else ""
        return f"{text}, {self.stopped_text}" if self.stopped_ms else text

    @property
    def stopped_text(self) -> str:
        """Clause about the time without progress, and how it differs from that of the wait."""
        text = f"{seconds(self.stopped_ms)} without {'consumption' if self.is_eager else 'commits'} of any partition"
        if not self.is_eager:
            return f"{text} (members that keep their partitions may have continued to read)"
        more_ms = self.stopped_ms - self.total_ms
        if abs(more_ms) < SHARE_OF_STOP * self.stopped_ms:
            return text
        if more_ms > 0 and self._began_before():
            return f"{text} (more than the wait: it had begun before)"
        if more_ms < 0:
            return f"{text} (less than the wait: members continue until their next heartbeat)"
        return f"{text} (more than the wait: it is measured between commits, usually {seconds(self.usual_ms)} apart)"

    def _began_before(self) -> bool:
        margin_ms = TIMES_USUAL * self.usual_ms
        return any(
            start < r.begin_ms - margin_ms and r.begin_ms < end for r in self.rebalances for start, end in self.silences
        )

    def evidence(self) -> Evidence:
        """Return the figures, or an empty dict without waits."""
        if not self.rebalances:
            return {}
        return {
            "stops": len(self.rebalances),
            "waits_ms": self.lengths_ms,
            "longest_wait_ms": self.longest_ms,
            "total_wait_ms": self.total_ms,
            "without_progress_ms": self.stopped_ms,
            "silences_ms": [end - start for start, end in self.silences],
            "eager": self.is_eager,
        }


def waits_of(analysis: GroupAnalysis, rebalances: list[Rebalance]) -> Waits:
    usual_ms = analysis.commits.usual_step_ms() or 0
    silences: dict[tuple[int, int], None] = {}
    for r in rebalances:
        silence = analysis.commits.silence_over(r.begin_ms, r.barrier_ms)
        if silence is not None and silence[1] - silence[0] >= max(SHORTEST_MS, TIMES_USUAL * usual_ms):
            silences[silence] = None
    return Waits(rebalances, list(silences), usual_ms)


def waits_for_dead(analysis: GroupAnalysis, member_ids: Collection[str]) -> Waits:
    """Return the waits that ended when the coordinator removed one of these members, because it was silent."""
    return waits_of(analysis, [r for member_id, r in dead_waits(analysis) if member_id in member_ids])


def dead_waits(analysis: GroupAnalysis) -> Iterator[tuple[str, Rebalance]]:
    """Yield each wait for a member that the coordinator removed because it was silent, with the member's id."""
    for r in with_barrier(analysis):
        if r.why.laggard is not None and is_for_dead(r) and r.prepare_ms >= SHORTEST_MS:
            yield r.why.laggard.member_id, r


def is_for_dead(r: Rebalance) -> bool:
    return r.why.laggard is not None and r.why.laggard.how in _FOR_THE_DEAD


def began_long_before(before_ms: float, usual_ms: float) -> bool:
    """Return whether a silence began so long before a rebalance or a revocation that it is not its consequence.

    Args:
        before_ms: Length of the silence before.
        usual_ms: Usual time between two advances of the group.
    """
    return before_ms >= max(BEFORE_MS, TIMES_USUAL * usual_ms)


def with_barrier(analysis: GroupAnalysis) -> Iterator[Rebalance]:
    """Yield the rebalances of a classic group in which members could wait for others."""
    return (r for r in analysis.rebalances if r.reached_barrier and r.before.size and not r.is_epoch)


def long_waits(analysis: GroupAnalysis) -> Iterator[Rebalance]:
    """Yield the rebalances whose wait was long, compared with the rebalance timeout."""
    for r in with_barrier(analysis):
        timeout = r.before.rebalance_timeout_ms
        shortest = max(SHORTEST_MS, min(LONG_MS, SHARE_OF_TIMEOUT * timeout)) if timeout else LONG_MS
        if r.prepare_ms >= shortest:
            yield r
