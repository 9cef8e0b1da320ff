"""R02: a member leaves because too much time passed between two of its polls."""

from __future__ import annotations

from collections.abc import Iterator

from kohort.pipeline.history.group_analysis import GroupAnalysis
from kohort.pipeline.history.member_sessions import Session
from kohort.pipeline.history.poll_timeouts import left_at_poll_timeout
from kohort.pipeline.rules.finding import INFO, POSSIBLE, WARNING, Finding, busiest, seconds, times, weakest
from kohort.pipeline.rules.r43_restless_member import returned_on_purpose

ID = "R02"
OFTEN = 2
AGAIN_AND_AGAIN, WINDOW_MS, SOON_MS = 3, 30 * 60_000, 30_000


def find(analysis: GroupAnalysis) -> Iterator[Finding]:
    by_client: dict[str, list[tuple[Session, str]]] = {}
    for session, sure in left_at_poll_timeout(analysis).items():
        by_client.setdefault(session.member.name, []).append((session, sure))
    reported = {client for client, hits in by_client.items() if len(hits) >= OFTEN}
    reported.update(returned_on_purpose(analysis))
    yield from _come_and_go(analysis, reported)
    for client, hits in by_client.items():
        if len(hits) < OFTEN:
            continue
        timeout = hits[-1][0].member.rebalance_timeout_ms
        yield Finding(
            ID,
            "A client leaves at its poll timeout",
            WARNING,
            weakest(confidence for _, confidence in hits),
            f"{client} left {times(len(hits))}, because the time between two of its polls exceeded "
            "max.poll.interval.ms"
            + (f" ({seconds(timeout)})" if timeout else "")
            + ". Each time causes two rebalances: one when it leaves and one when it rejoins",
            "Reduce the batch size (max.poll.records), or raise max.poll.interval.ms to what the processing needs. The "
            "interrupted batch is processed again.",
            hits[0][0].last_ms,
            hits[-1][0].last_ms,
            [client],
            {
                "times": len(hits),
                "max_poll_interval_ms": timeout,
                "left_ms": [session.last_ms for session, _ in hits],
                "members": [session.member.member_id for session, _ in hits],
            },
        )


def _come_and_go(analysis: GroupAnalysis, reported: set[str]) -> Iterator[Finding]:
    """Find clients that repeatedly leave and rejoin without a reason in any source."""
    of_client: dict[str, list[Session]] = {}
    for session in analysis.sessions:
        old = session.predecessor
        if old is not None and old.end_kind == "left" and session.first_ms - old.last_ms <= SOON_MS:
            of_client.setdefault(old.member.name, []).append(old)
    for client, sessions in of_client.items():
        moments = [session.last_ms for session in sessions]
        if client in reported or busiest(moments, WINDOW_MS) < AGAIN_AND_AGAIN:
            continue
        yield Finding(
            ID,
            "A client leaves and rejoins repeatedly",
            INFO,
            POSSIBLE,
            f"{client} left the group {times(len(sessions))} and rejoined within {seconds(SOON_MS)} each time. This is what a client does that exceeds "
            "max.poll.interval.ms, or one that is restarted repeatedly; no source shows which",
            "Analyze the offsets topic and samples of log end offsets, too: commits show what it did before it left.",
            moments[0],
            moments[-1],
            [client],
            {"times": len(sessions), "left_ms": moments},
        )
