"""R16: the group's coordinator moved to another broker."""

from __future__ import annotations

from collections.abc import Iterator

from kohort.pipeline.history.group_analysis import GroupAnalysis
from kohort.pipeline.rules.finding import CERTAIN, INFO, WARNING, Finding, seconds, several

ID = "R16"
AFTERWARDS_MS = 60_000
LONG_SILENCE_MS = 30_000


def find(analysis: GroupAnalysis) -> Iterator[Finding]:
    moves = [
        (ts, epoch)
        for ts, epoch in analysis.group.coordinator_moves
        if (generation := analysis.ownership.generation_at(ts)) is not None and generation.size
    ]
    if not moves:
        return
    first, last = moves[0][0], moves[-1][0]
    silences = [
        analysis.commits.silence_over(ts - 5000, min(ts + AFTERWARDS_MS, analysis.group.until_ms)) for ts, _ in moves
    ]
    longest = max((end - start for silence in silences if silence for start, end in (silence,)), default=0)
    after = [
        r
        for r in analysis.rebalances
        if any(ts <= r.begin_ms <= ts + AFTERWARDS_MS for ts, _ in moves) and r.after.size
    ]
    text = "the coordinator moved to another broker"
    text += f"; around that time no partition advanced for up to {seconds(longest)}" if longest else ""
    text += f"; {several(len(after), 'rebalance')} within a minute" if after else "; no rebalance followed"
    yield Finding(
        ID,
        "The coordinator moved",
        WARNING if longest >= LONG_SILENCE_MS or len(after) > 1 else INFO,
        CERTAIN,
        text,
        "A planned move costs a group almost nothing. If this one did, look at the load time and size of the offsets "
        "partition, and at compaction. A broker that is killed during an open rebalance forgets it.",
        first,
        last + AFTERWARDS_MS,
        [],
        {
            "moves": sorted({epoch for _, epoch in moves}),
            "moments_ms": [ts for ts, _ in moves],
            "longest_silence_ms": longest,
            "rebalances": [r.number for r in after],
        },
    )
