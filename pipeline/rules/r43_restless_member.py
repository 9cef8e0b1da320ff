"""R43: one member requests rebalances repeatedly, while nothing about the group or its topics changes."""

from __future__ import annotations

import statistics
from bisect import bisect_right
from collections.abc import Iterator
from itertools import pairwise

from kohort.pipeline.history.group_analysis import GroupAnalysis
from kohort.pipeline.history.rebalance import Rebalance
from kohort.pipeline.rules.finding import CRITICAL, POSSIBLE, WARNING, Finding, busiest, seconds, times, weakest

ID = "R43"
OFTEN_AN_HOUR = 5
MANY = 100
SOON_MS, SETTLED_MS = 5_000, 60_000
_ASKED = ("rejoin_leader", "metadata_changed", "rejoin_member")


def find(analysis: GroupAnalysis) -> Iterator[Finding]:
    by_client: dict[str, list[Rebalance]] = {}
    after_a_change = _after_a_change(analysis.rebalances, [event.ts for event in analysis.events.replaced])
    for r in analysis.rebalances:
        if r.why.confidence == POSSIBLE or r.number in after_a_change:
            continue
        if r.why.cause in _ASKED and not r.is_epoch and not r.joined and not r.evicted and _same_topics(r):
            client = r.why.trigger_client or r.why.trigger_member or ""
            by_client.setdefault(client, []).append(r)
    for client, hits in by_client.items():
        moments = [r.begin_ms for r in hits]
        if busiest(moments, 3_600_000) < OFTEN_AN_HOUR or not client:
            continue
        every_ms = statistics.median(b - a for a, b in pairwise(moments))
        reasons = sorted({r.why.client_reason for r in hits if r.why.client_reason})
        yield Finding(
            ID,
            "A member requests rebalances repeatedly",
            CRITICAL if len(hits) >= MANY else WARNING,
            weakest(r.why.confidence for r in hits),
            f"{client} triggered a rebalance {times(len(hits))}, usually every {seconds(every_ms)}, while members, topics "
            f"and subscriptions stayed the same"
            + (f"; its reason: {', '.join(reasons[:3])}" if reasons else "")
            + "; each time all members stop and rejoin",
            f"Restart {client}, and check its log for the reason it rejoins: topic metadata that keeps changing for this client "
            "(inconsistent brokers), an application that calls enforceRebalance or subscribe in a loop, a bug of an old "
            "client. Update that client.",
            moments[0],
            hits[-1].stable_ms,
            [client],
            {
                "times": len(hits),
                "every_ms": round(every_ms),
                "lasted_ms": hits[-1].stable_ms - moments[0],
                "rebalances": [r.number for r in hits],
            },
        )


def _after_a_change(rebalances: list[Rebalance], replaced_ms: list[int]) -> set[int]:
    """Return the numbers of rebalances shortly after a join or leave, because clients settle in several rounds.

    `replaced_ms` are the times at which a static member came back with another member id, in order.
    """
    numbers = set()
    changed_ms = last_ms = (
        rebalances[0].begin_ms if rebalances else 0
    )  # the state before the first rebalance is unknown
    for r in rebalances:
        replaced = replaced_ms[bisect_right(replaced_ms, r.begin_ms) - 1] if replaced_ms else 0
        if r.joined or r.left or r.evicted or replaced <= r.begin_ms < replaced + SETTLED_MS:
            changed_ms = r.begin_ms
        elif r.begin_ms - last_ms >= SOON_MS or r.begin_ms - changed_ms >= SETTLED_MS:
            continue
        numbers.add(r.number)
        last_ms = r.stable_ms
    return numbers


def _same_topics(r: Rebalance) -> bool:
    return "subscriptions" not in r.changes and "partitions" not in r.changes and "protocol" not in r.changes
