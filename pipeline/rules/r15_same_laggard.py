"""R15: the same member always joins last."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from kohort.pipeline.history.group_analysis import GroupAnalysis
from kohort.pipeline.rules.finding import CERTAIN, LIKELY, WARNING, Finding

ID = "R15"
AT_LEAST = 5
SHARE = 0.5
SHORTEST_MS = 1_000


def find(analysis: GroupAnalysis) -> Iterator[Finding]:
    rounds = [r for r in analysis.settled if not r.is_epoch]
    waited_for = [
        r
        for r in rounds
        if r.prepare_ms >= SHORTEST_MS
        and r.why.laggard is not None
        and r.why.laggard.how in ("rejoined", "evicted", "leave_poll_timeout")
    ]
    if len(rounds) < AT_LEAST or not waited_for:
        return
    client, count = Counter(r.why.laggard.client for r in waited_for if r.why.laggard is not None).most_common(1)[0]
    if count < SHARE * len(rounds):
        return
    hits = [r for r in waited_for if r.why.laggard is not None and r.why.laggard.client == client]
    yield Finding(
        ID,
        "The same member is always last to rejoin",
        WARNING,
        CERTAIN if all(r.why.laggard.measured for r in hits if r.why.laggard) else LIKELY,
        f"{client} was the last to rejoin in {count} of {len(rounds)} rebalances",
        "Check its processing time: its poll loop is the slowest. Or its partitions have the most records: see the "
        "weighted skew.",
        hits[0].begin_ms,
        hits[-1].stable_ms,
        [client],
        {
            "late": count,
            "of": len(rounds),
            "delays_ms": [r.why.laggard.delay_us // 1000 for r in hits if r.why.laggard],
            "rebalances": [r.number for r in hits],
        },
    )
