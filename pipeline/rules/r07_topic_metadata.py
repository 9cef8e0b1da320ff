"""R07: a topic changed (partitions added, topic created) and the group had to rebalance."""

from __future__ import annotations

from collections.abc import Iterator

from kohort.pipeline.history.group_analysis import GroupAnalysis
from kohort.pipeline.rules.finding import INFO, WARNING, Finding, busiest, listed, several, weakest

ID = "R07"
OFTEN_AN_HOUR = 3


def find(analysis: GroupAnalysis) -> Iterator[Finding]:
    hits = [
        r for r in analysis.rebalances if r.why.cause == "topic_metadata_changed" and r.counts and r.kind != "initial"
    ]
    if not hits:
        return
    often = busiest([r.begin_ms for r in hits], 3_600_000) >= OFTEN_AN_HOUR
    grown = sorted({topic for r in hits for topic, _, _ in r.grown})
    yield Finding(
        ID,
        "Rebalanced because a topic changed",
        WARNING if often else INFO,
        weakest(r.why.confidence for r in hits),
        f"{several(len(hits), 'rebalance')} without a change of members, because topic metadata changed"
        + (f" ({listed(grown)})" if grown else ""),
        "Ignore this if it happens once, when partitions are added. If it repeats, find out who creates topics or partitions, "
        "and narrow the pattern of a subscription.",
        hits[0].begin_ms,
        hits[-1].stable_ms,
        [],
        {
            "times": len(hits),
            "partitions": [grown for r in hits for grown in r.grown],
            "rebalances": [r.number for r in hits],
        },
    )
