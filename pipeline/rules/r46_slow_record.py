"""R46: a record takes longer than max.poll.interval.ms: each owner of its partition leaves, one after the other."""

from __future__ import annotations

from collections.abc import Iterator

from kohort.pipeline.history.group_analysis import GroupAnalysis
from kohort.pipeline.history.poll_timeouts import left_at_poll_timeout
from kohort.pipeline.history.standstills import OWNERS, gravest, standstills
from kohort.pipeline.rules.finding import CRITICAL, LIKELY, POSSIBLE, Finding, listed, seconds, times, weakest

ID = "R46"


def find(analysis: GroupAnalysis) -> Iterator[Finding]:
    timeouts = left_at_poll_timeout(analysis)
    if len(timeouts) < OWNERS:
        return
    worst = gravest([standstill for standstill in standstills(analysis, list(timeouts)) if standstill.lag != 0])
    if not worst:
        return
    first, most = worst[0], len(worst[0].ended)
    clients = list(dict.fromkeys(session.member.name for session in first.ended))
    if len(clients) < OWNERS:
        return  # one client alone is slow with whatever it has (R02)
    places = [standstill.name for standstill in worst]
    timeout = max((s.member.rebalance_timeout_ms or 0 for s in first.ended), default=0)
    yield Finding(
        ID,
        "A record takes longer than max.poll.interval.ms",
        CRITICAL,
        weakest(timeouts[session] for session in first.ended),
        f"the committed offset stayed at {' or '.join(places[:3])} for {seconds(first.end_ms - first.start_ms)}, while its "
        f"owners left at their poll timeout {times(most)}, one after the other ({listed(clients)}): each owner of that "
        f"partition processes the record {first.location} for longer than max.poll.interval.ms"
        f"{f' ({seconds(timeout)})' if timeout else ''}, and leaves",
        f"{first.how_to_read}. Find out why that record takes so long. Then skip it, make its processing faster, or move that "
        "off the poll thread with the partition paused. Raising "
        "max.poll.interval.ms helps only if the processing ends at all.",
        first.start_ms,
        first.end_ms,
        clients,
        {
            "topic": first.topic_partition[0],
            "part": first.topic_partition[1],
            "offset": first.offset,
            "times": most,
            "stood_ms": first.end_ms - first.start_ms,
            "lag": first.lag,
            "max_poll_interval_ms": timeout or None,
            "left_ms": [session.last_ms for session in first.ended],
            "members": [session.member.member_id for session in first.ended],
        },
        cause_confidence=LIKELY if len(worst) == 1 else POSSIBLE,
    )
