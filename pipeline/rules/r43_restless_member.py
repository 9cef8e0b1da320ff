"""R43: one member requests rebalances repeatedly, or leaves and rejoins repeatedly, while the other members stay."""

from __future__ import annotations

import statistics
from bisect import bisect_right
from collections.abc import Iterator
from itertools import pairwise

from kohort.pipeline.history.group_analysis import GroupAnalysis, once
from kohort.pipeline.history.member_sessions import Session
from kohort.pipeline.history.poll_timeouts import left_at_poll_timeout
from kohort.pipeline.history.rebalance import Rebalance
from kohort.pipeline.rules.finding import (
    CRITICAL,
    INFO,
    POSSIBLE,
    WARNING,
    Finding,
    busiest,
    seconds,
    several,
    times,
    weakest,
)

ID = "R43"
OFTEN_AN_HOUR = 5
MANY = 100
SOON_MS, SETTLED_MS = 5_000, 60_000
RETURNS, RETURNS_WITHIN_MS, AWAY_MS, AT_ONCE_MS = 3, 30 * 60_000, 60_000, 500
_UNSUBSCRIBED = "unsubscribed"  # part of the reason that Java clients give
_VOLUNTARY = ("rejoin_leader", "metadata_changed", "rejoin_member")


def find(analysis: GroupAnalysis) -> Iterator[Finding]:
    yield from _requested(analysis)
    yield from _returned(analysis)


def _requested(analysis: GroupAnalysis) -> Iterator[Finding]:
    by_client: dict[str, list[Rebalance]] = {}
    after_a_change = _after_a_change(analysis.rebalances, [event.ts for event in analysis.events.replaced])
    for r in analysis.rebalances:
        if r.why.confidence == POSSIBLE or r.number in after_a_change:
            continue
        if r.why.cause in _VOLUNTARY and not r.is_epoch and not r.joined and not r.evicted and _same_topics(r):
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


@once
def returned_on_purpose(analysis: GroupAnalysis) -> dict[str, list[tuple[Session, Session]]]:
    """Return the old and new sessions of each dynamic client that leaves and rejoins repeatedly, while no other does.

    A client that may have exceeded its poll timeout, or have been restarted, is left out (R02).
    """
    returns: dict[str, list[tuple[Session, Session]]] = {}
    too_slow = left_at_poll_timeout(analysis)
    for new in analysis.sessions:
        old = new.predecessor
        if old is None or old.end_kind != "left" or old in too_slow or new.member.instance_id:
            continue
        if new.first_ms - old.last_ms <= AWAY_MS:
            returns.setdefault(new.member.name, []).append((old, new))
    return {
        client: pairs
        for client, pairs in returns.items()
        if busiest([old.last_ms for old, _ in pairs], RETURNS_WITHIN_MS) >= RETURNS
        and _others_stay(analysis, client, pairs)
        and (_resubscribed(pairs) or _returns_at_once(analysis, pairs) or _unsubscribed(analysis, pairs))
    }


def _returned(analysis: GroupAnalysis) -> Iterator[Finding]:
    for client, pairs in returned_on_purpose(analysis).items():
        moments = [old.last_ms for old, _ in pairs]
        start_ms, end_ms = moments[0], pairs[-1][1].first_ms
        caused = [
            r for r in analysis.rebalances if r.reached_barrier and start_ms - SOON_MS <= r.begin_ms <= end_ms + SOON_MS
        ]
        resubscribed, at_once = _resubscribed(pairs), _returns_at_once(analysis, pairs)
        every_ms = statistics.median(b - a for a, b in pairwise(moments))
        yield Finding(
            ID,
            "A member leaves and rejoins repeatedly",
            INFO,
            weakest(old.end_confidence for old, _ in pairs),
            f"{client} left the group {times(len(pairs))}, usually every {seconds(every_ms)}, and joined again each time"
            + (" with another subscription" if resubscribed else "")
            + (" at once, sooner than a process starts" if at_once else "")
            + f"; the other members stayed. That caused {several(len(caused), 'rebalance')}",
            f"Check why {client} unsubscribes or closes its consumer so often. Subscribe to the new topics without unsubscribing "
            "first, or use a group of its own: each leave and join costs up to two rebalances of the whole group.",
            start_ms,
            end_ms,
            [client],
            {
                "times": len(pairs),
                "every_ms": round(every_ms),
                "lasted_ms": end_ms - start_ms,
                "rebalances": [r.number for r in caused],
            },
        )


def _resubscribed(pairs: list[tuple[Session, Session]]) -> bool:
    """Return whether each new session of the client subscribed to other topics, or another pattern, than the old one."""
    return all(
        (old.member.topics is not None and old.member.topics != new.member.topics)
        or old.member.regex != new.member.regex
        for old, new in pairs
    )


def _returns_at_once(analysis: GroupAnalysis, pairs: list[tuple[Session, Session]]) -> bool:
    """Return whether the client was back sooner each time than a process can be started.

    Without the time of its arrival it must be in the same rebalance.
    """
    return all(
        analysis.events.arrived_ms.get(new.member.member_id, new.first_ms) - old.last_ms <= AT_ONCE_MS
        for old, new in pairs
    )  # fmt: skip


def _unsubscribed(analysis: GroupAnalysis, pairs: list[tuple[Session, Session]]) -> bool:
    """Return whether the client gave that reason each time."""
    removals = [analysis.events.removal_of(old.member.member_id, old.last_ms) for old, _ in pairs]
    return all(removal is not None and _UNSUBSCRIBED in (removal.reason or "") for removal in removals)


def _others_stay(analysis: GroupAnalysis, client: str, pairs: list[tuple[Session, Session]]) -> bool:
    """Return whether no other member came or went in that time, and there was one."""
    start_ms, end_ms = pairs[0][0].last_ms, pairs[-1][1].first_ms
    sessions = [
        s for s in analysis.sessions if s.member.name != client and s.first_ms <= end_ms and s.last_ms >= start_ms
    ]
    return bool(sessions) and all(s.first_ms < start_ms and s.last_ms > end_ms for s in sessions)


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
