"""R17: a slow start caused by the broker's initial rebalance delay, which is normal."""

from __future__ import annotations

from collections.abc import Iterator

from kohort.pipeline.history.events_by_kind import is_arrival
from kohort.pipeline.history.group_analysis import GroupAnalysis
from kohort.pipeline.rules.finding import CERTAIN, INFO, LIKELY, Finding, seconds

ID = "R17"
SLOW_MS = 3000
TOGETHER_MS = 1000


def find(analysis: GroupAnalysis) -> Iterator[Finding]:
    for r in analysis.rebalances:
        if r.kind != "initial" or r.is_epoch or r.start_ms is None or r.prepare_ms < SLOW_MS or not r.after.size:
            continue
        if r.lost is None:  # where the log begins, and perhaps not the group
            continue
        joined = [
            event.ts
            for event in analysis.group.events
            if is_arrival(event) and r.start_ms - 100 <= event.ts <= r.barrier_ms
        ]
        if joined and max(joined) - min(joined) >= TOGETHER_MS:
            continue
        yield Finding(
            ID,
            "Slow start caused by the initial rebalance delay",
            INFO,
            CERTAIN if len(joined) >= r.after.size else LIKELY,
            f"the first rebalance took {seconds(r.prepare_ms)} although its members joined together",
            "Ignore this, it is normal: the broker waits group.initial.rebalance.delay.ms for more members. Lower it only for tests.",
            r.start_ms,
            r.stable_ms,
            [],
            {"prepare_ms": r.prepare_ms, "rebalances": [r.number]},
        )
        return
