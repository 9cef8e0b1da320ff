"""R30: every owner of a partition dies, and its committed offset stays, so the record there kills its consumers."""

from __future__ import annotations

from collections.abc import Iterator

from kohort.pipeline.history.group_analysis import GroupAnalysis
from kohort.pipeline.history.member_sessions import THROWN_OUT
from kohort.pipeline.history.standstills import gravest, standstills
from kohort.pipeline.rules.finding import CERTAIN, CRITICAL, LIKELY, POSSIBLE, Finding, listed, seconds, times
from kohort.pipeline.rules.r42_no_time_to_join import thrown_out

ID = "R30"
DEATHS = 2

_OR_SLOW = "; no source shows whether they crashed, or left because it takes longer than max.poll.interval.ms"


def find(analysis: GroupAnalysis) -> Iterator[Finding]:
    innocent = thrown_out(analysis)
    died = [s for s in analysis.sessions if s.end_kind in THROWN_OUT and s not in innocent]
    if len(died) < DEATHS:
        return
    worst = [standstill for standstill in gravest(standstills(analysis, died)) if standstill.lag != 0]
    if not worst:
        return
    first, most = worst[0], len(worst[0].ended)
    clients = list(dict.fromkeys(session.member.name for session in first.ended))
    certain = all(session.end_confidence == CERTAIN for session in first.ended)
    places = [standstill.name for standstill in worst]
    yield Finding(
        ID,
        "A record that crashes its consumers",
        CRITICAL,
        LIKELY if len(worst) == 1 and len(clients) + most > DEATHS + 1 else POSSIBLE,
        f"the committed offset stayed at {' or '.join(places[:3])} for {seconds(first.end_ms - first.start_ms)} while its "
        f"owners ended {times(most)} ({listed(clients)}); the record is {first.location}"
        + ("" if certain else _OR_SLOW),
        f"{first.how_to_read}. Read what the process logged last. Skip the record or handle its error: otherwise every new "
        "owner crashes.",
        first.start_ms,
        first.end_ms,
        clients,
        {
            "topic": first.topic_partition[0],
            "part": first.topic_partition[1],
            "offset": first.offset,
            "crashes": most,
            "stood_ms": first.end_ms - first.start_ms,
            "lag": first.lag,
            "members": [session.member.member_id for session in first.ended],
        },
        cause_confidence="" if certain else POSSIBLE,
    )


def explain(poison: Finding, other_findings: list[Finding]) -> None:
    """Downgrade findings about the members that the record killed."""
    explained = _members(poison)
    for other in other_findings:
        if other.rule in ("R03", "R05") and _members(other) <= explained:
            other.is_explained_by(poison)


def _members(finding: Finding) -> set[str]:
    members = finding.evidence["members"]
    return set(members) if isinstance(members, list) else set()
