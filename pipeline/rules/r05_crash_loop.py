"""R05: one client crashes and rejoins repeatedly."""

from __future__ import annotations

import statistics
from collections.abc import Iterator

from kohort.pipeline.history.group_analysis import GroupAnalysis, once
from kohort.pipeline.history.member_sessions import THROWN_OUT, Session, is_flapping, lives
from kohort.pipeline.rules.finding import CRITICAL, Finding, seconds, several, times, weakest
from kohort.pipeline.rules.r42_no_time_to_join import thrown_out
from kohort.pipeline.rules.waits import waits_for_dead

ID = "R05"
SHORT_LIFE_MS = 120_000


def _session(crashed: list[Session]) -> str:
    """Describe the time between a crash and its detection."""
    expired = {s.member.session_timeout_ms for s in crashed if s.end_kind == "session_expired"} - {None}
    return f" (its session timeout of {seconds(max(filter(None, expired)))} included)" if expired else ""


def _describe_others(analysis: GroupAnalysis, own: list[Session], start_ms: int, end_ms: int) -> str:
    """Describe whether other members crashed, too."""
    other_sessions = [s for s in analysis.sessions if s not in own and start_ms <= s.last_ms <= end_ms]
    return "" if any(s.end_kind in THROWN_OUT for s in other_sessions) else "; no other member was removed in that time"


@once
def crash_loops(analysis: GroupAnalysis) -> dict[str, list[Session]]:
    """Return the crashed sessions of each client that crashes and rejoins repeatedly."""
    innocent = thrown_out(analysis)
    loops = {}
    for client, sessions in lives(analysis.sessions).items():
        ended = [s for s in sessions if s.end_kind not in ("alive",)]
        crashed = [s for s in ended if s.end_kind in THROWN_OUT and s not in innocent]
        if not is_flapping(sessions) or len(crashed) < 3 or len(crashed) < 0.5 * len(ended):
            continue
        if statistics.median(s.life_ms for s in crashed) < SHORT_LIFE_MS:
            loops[client] = crashed
    return loops


def find(analysis: GroupAnalysis) -> Iterator[Finding]:
    for client, crashed in crash_loops(analysis).items():
        sessions = lives(analysis.sessions)[client]
        median = statistics.median(s.life_ms for s in crashed)
        start, end = crashed[0].first_ms, crashed[-1].last_ms
        caused = [r for r in analysis.rebalances if start <= r.stable_ms <= end + 5000 and r.outcome == "completed"]
        waits = waits_for_dead(analysis, {s.member.member_id for s in crashed})
        yield Finding(
            ID,
            "Crash loop of one client",
            CRITICAL,
            weakest(s.end_confidence for s in crashed),
            f"{client} crashed {times(len(crashed))}; each time this was detected about {seconds(median)} after it had joined"
            f"{_session(crashed)}. This caused {several(len(caused), 'rebalance')}{_describe_others(analysis, sessions, start, end)}{waits.text}",
            "Fix or stop that instance. Alert on the instance rather than on the group: each round causes a join and, after "
            "a session timeout, an expiry.",
            start,
            end,
            [client],
            {
                "crashes": len(crashed),
                "median_life_ms": median,
                "rebalances_caused": len(caused),
                "members": [s.member.member_id for s in crashed],
                **waits.evidence(),
                "rebalances": [r.number for r in caused],
            },
        )
