"""Health of a group by day: rebalances, their cost, and a score."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from kohort.pipeline.history.days import days_between
from kohort.pipeline.history.group_analysis import GroupAnalysis
from kohort.pipeline.history.member_sessions import THROWN_OUT
from kohort.pipeline.history.share_members import VANISHED
from kohort.pipeline.history.stalls import Stall

CLOSE_MS = 120_000  # maximum time between samples; nothing is known of longer gaps


@dataclass(frozen=True, slots=True, kw_only=True)
class DayHealth:
    """Counts and seconds of one day. The score is 100 minus the three penalties."""

    day: str
    rebalances: int
    follow_ups: int
    evictions: int
    rebalancing_s: float
    rebalancing_share: float
    p50_total_ms: int | None
    p95_total_ms: int | None
    max_total_ms: int | None
    unavailable_partition_s: tuple[float, float]
    no_commit_s: float
    commits: int
    top_cause: str | None
    top_client: str | None
    minus_unavailable: float
    minus_storms: float
    minus_evictions: float
    sampled_share: float
    first_ms: int
    last_ms: int

    @property
    def score(self) -> float:
        return 100 - sum((self.minus_unavailable, self.minus_storms, self.minus_evictions))


def health_by_day(analysis: GroupAnalysis) -> Iterator[DayHealth]:
    for day, start, end in days_between(*analysis.span_ms):
        inside = [r for r in analysis.rebalances if start <= r.begin_ms < end]
        counted = [r for r in inside if r.counts]
        totals = sorted(r.stable_ms - r.begin_ms for r in counted)
        busy_ms = sum(max(0, r.stable_ms - r.begin_ms) for r in inside if r.outcome != "open" and r.before.size)
        members = max((r.after.size for r in inside), default=0)
        ended = [s for s in analysis.sessions if start <= s.last_ms < end]
        evictions = sum(s.end_kind in THROWN_OUT for s in ended) + _vanished(analysis, start, end)
        silent_ms = sum(s.length_ms for s in analysis.stalls if s.kind == "group_silent" and start <= s.start_ms < end)
        low = sum(r.cost.unavailable_partition_s[0] for r in inside)
        high = sum(r.cost.unavailable_partition_s[1] for r in inside)
        partitions = max((len(r.after.owners) for r in inside), default=0)
        length_s = max(1e-3, (end - start) / 1000)
        stood_still_s = sum(s.length_ms for s in _stood_still(analysis) if start <= s.start_ms < end) / 1000
        down_share = min(1.0, (high / partitions + stood_still_s) / length_s) if partitions else 0.0
        storms = sum(start <= storm.start_ms < end for storm in analysis.storms)
        yield DayHealth(
            day=day,
            rebalances=len(counted),
            follow_ups=sum(r.kind == "followup" for r in inside),
            evictions=evictions,
            rebalancing_s=busy_ms / 1000,
            rebalancing_share=min(1.0, busy_ms / 1000 / length_s),
            p50_total_ms=_percentile(totals, 50),
            p95_total_ms=_percentile(totals, 95),
            max_total_ms=totals[-1] if totals else None,
            unavailable_partition_s=(low, high),
            no_commit_s=silent_ms / 1000,
            commits=analysis.commits.between(start - 1, end - 1)[0],
            top_cause=_most_common(r.why.cause for r in counted if r.kind != "initial"),
            top_client=_most_common(r.why.trigger_client for r in counted if r.kind != "initial"),
            minus_unavailable=min(60.0, 600 * down_share),
            minus_storms=min(25.0, 5.0 * storms),
            minus_evictions=min(15.0, 3 * evictions / max(1, members)),
            sampled_share=sampled_share(analysis, start, end),
            first_ms=start,
            last_ms=end,
        )


def _vanished(analysis: GroupAnalysis, start_ms: int, end_ms: int) -> int:
    stays = analysis.share.stays if analysis.share is not None else ()
    return sum(s.ended == VANISHED and start_ms <= (s.end_ms or 0) < end_ms for s in stays)


def _stood_still(analysis: GroupAnalysis) -> list[Stall]:
    return [s for s in analysis.stalls if s.kind == "group_silent" and s.waited_ms and s.during_rebalance is None]


def sampled_share(analysis: GroupAnalysis, start_ms: int, end_ms: int) -> float:
    """Return the fraction of a period between log-end samples that are close together.

    Of several partitions, the best sampled one counts.
    """
    best = 0.0
    sampled = [ends.sampled_ms for ends in analysis.group.ends.values()]
    if analysis.share is not None:  # log ends alone say little about a share group
        sampled = [np.array(lag.ms, np.int64) for lag in analysis.share.lags.values()]
    for moments in sampled:
        if len(moments) < 2:
            continue
        times = np.unique(moments[(moments >= start_ms) & (moments < end_ms)])
        gaps = np.diff(times)
        best = max(best, float(gaps[gaps <= CLOSE_MS].sum()) / max(1, end_ms - start_ms))
    return min(1.0, best)


def _percentile(values: list[int], percent: int) -> int | None:
    return values[max(0, -(-len(values) * percent // 100) - 1)] if values else None


def _most_common(names: Iterator[str | None]) -> str | None:
    top = Counter(name for name in names if name).most_common(1)
    return top[0][0] if top else None
