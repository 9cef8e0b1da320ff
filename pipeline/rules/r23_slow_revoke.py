"""R23: a member of the new protocol takes long to give up partitions, and others wait for them."""

from __future__ import annotations

from collections.abc import Iterator

from kohort.pipeline.history.consumer_timeline import UNRELEASED, UNREVOKED, Wait
from kohort.pipeline.history.group_analysis import GroupAnalysis
from kohort.pipeline.rules.finding import CERTAIN, WARNING, Finding, listed, seconds, times

ID = "R23"
SHARE_OF_TIMEOUT = 0.5
LONG_MS = 5000


def find(analysis: GroupAnalysis) -> Iterator[Finding]:
    if analysis.consumer is None:
        return
    by_client: dict[str, list[Wait]] = {}
    until = analysis.group.until_ms
    waits = analysis.consumer.waits
    for wait in waits:
        if wait.state != UNREVOKED:
            continue
        length = (wait.end_ms or until) - wait.start_ms
        share = SHARE_OF_TIMEOUT * wait.rebalance_timeout_ms if wait.rebalance_timeout_ms else LONG_MS
        if length >= min(share, LONG_MS) and length >= 2000:
            by_client.setdefault(wait.client, []).append(wait)
    for client, hits in by_client.items():
        lengths = [(wait.end_ms or until) - wait.start_ms for wait in hits]
        waiting = sorted(
            {
                other.client
                for other in waits
                for wait in hits
                if other.state == UNRELEASED
                and other.start_ms < (wait.end_ms or until)
                and (other.end_ms or until) > wait.start_ms
            }
        )
        timeout = hits[-1].rebalance_timeout_ms
        yield Finding(
            ID,
            "A member is slow to give up partitions",
            WARNING,
            CERTAIN,
            f"{client} took up to {seconds(max(lengths))} to revoke, {times(len(hits))}"
            + (f"; {listed(waiting)} waited for it" if waiting else "")
            + ". In that time it reads nothing, not even from the partitions that it keeps",
            "The revoke callback is slow: do less in it. A lower max.poll.interval.ms"
            + (f" (now {seconds(timeout)})" if timeout else "")
            + " limits how long others wait.",
            hits[0].start_ms,
            hits[-1].end_ms or until,
            [client],
            {
                "times": len(hits),
                "revoke_ms": lengths,
                "longest_ms": max(lengths),
                "waiting": waiting,
                "rebalance_timeout_ms": timeout,
            },
        )
