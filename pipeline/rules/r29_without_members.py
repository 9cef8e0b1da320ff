"""R29: records wait, and the group has no members.

The severity depends on the end of its last members. Those that vanished crashed; those that left were stopped. A static
member gives no sign in either case.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from kohort.pipeline.history.group_analysis import GroupAnalysis
from kohort.pipeline.history.inputs import TopicPartition
from kohort.pipeline.history.lag import lag_at_samples, log_grew
from kohort.pipeline.history.member_sessions import THROWN_OUT, Session
from kohort.pipeline.rules.finding import (
    CERTAIN,
    CRITICAL,
    INFO,
    LIKELY,
    POSSIBLE,
    WARNING,
    Finding,
    how_to_resume,
    is_tool,
    listed,
    moment,
    seconds,
    several,
)

ID = "R29"
STOPPED_FOR_LONG_MS = 15 * 60_000  # a group with a proper stop shorter than this is being deployed
TIMES_EARLIER = 1.5  # a batch job is away for about as long each time
SHORTEST_MS = 10_000  # members whose sessions expired usually come back sooner than this


def find(analysis: GroupAnalysis) -> Iterator[Finding]:
    last = analysis.generations[-1] if analysis.generations else None
    if last is None or (last.size and last.end_ms is None):
        return
    since_ms = last.stable_ms if not last.size else last.end_ms or last.stable_ms
    waiting, last_sessions = _waiting(analysis), _last_members(analysis)
    if not waiting or not last_sessions or analysis.group.until_ms - since_ms < SHORTEST_MS:
        return
    grew = [log_grew(analysis.group, partition, since_ms, analysis.group.until_ms) for partition in waiting]
    lasted_ms, idle = analysis.group.until_ms - since_ms, all(count == 0 for count in grew)
    severity, confidence, how = _judged(last_sessions, lasted_ms, idle)
    tool = is_tool(analysis.group_id, (session.member.client_id for session in last_sessions))
    earlier_ms = _longest_earlier_absence_ms(analysis)
    if severity == WARNING and not _vanished(last_sessions):
        if tool:
            severity, how = INFO, "a command-line tool was closed"
        elif lasted_ms <= TIMES_EARLIER * earlier_ms:
            severity, how = INFO, f"{how}, and it was without members before, for up to {seconds(earlier_ms)}"
    records = sum(waiting.values())
    worst = max(waiting, key=lambda partition: waiting[partition])
    yield Finding(
        ID,
        "No members, and records wait",
        severity,
        confidence,
        f"the group has had no members since {moment(since_ms)} UTC ({seconds(lasted_ms)}), and {several(records, 'record')} "
        f"{'waits' if records == 1 else 'wait'}, most of them in partition {worst[1]} of {worst[0]}; {how}",
        how_to_resume(listed(_names(last_sessions)), crashed=bool(_vanished(last_sessions)), tool=tool),
        since_ms,
        analysis.group.until_ms,
        _names(last_sessions),
        {"records": records, "lasted_ms": lasted_ms, "partitions": len(waiting), "open": True},
    )


def _vanished(sessions: list[Session]) -> list[Session]:
    return [s for s in sessions if s.end_kind in THROWN_OUT and s.member.is_known and not s.member.instance_id]


def _longest_earlier_absence_ms(analysis: GroupAnalysis) -> int:
    """Return the longest time in which the group had no members before it had some again."""
    generations = analysis.generations
    pauses = (
        after.stable_ms - (earlier.stable_ms if not earlier.size else earlier.end_ms or after.stable_ms)
        for earlier, after in pairwise(generations)
        if after.size
    )
    return max((pause for pause in pauses if pause >= SHORTEST_MS), default=0)


def _last_members(analysis: GroupAnalysis) -> list[Session]:
    """Return the last sessions of the members in the last generation that had any."""
    last = next((generation for generation in reversed(analysis.generations) if generation.size), None)
    if last is None:
        return []
    newest = {s.member.member_id: s for s in sorted(analysis.sessions, key=lambda s: s.first_ms)}
    return [newest[member_id] for member_id in last.members if member_id in newest]


def _names(sessions: list[Session]) -> list[str]:
    return list(dict.fromkeys(session.member.name for session in sessions))


def _judged(sessions: list[Session], lasted_ms: int, idle: bool) -> tuple[str, str, str]:
    """Return severity, confidence and a description of the members' end; `idle` means no new records since."""
    if vanished := _vanished(sessions):
        sure = CERTAIN if any(s.end_confidence == CERTAIN for s in vanished) else LIKELY
        text = f"{listed(_names(vanished))} vanished without leaving the group"
        return (WARNING if idle else CRITICAL), sure, text
    grave = WARNING if lasted_ms >= STOPPED_FOR_LONG_MS and not idle else INFO
    if any(s.end_kind in THROWN_OUT and not s.member.is_known for s in sessions):
        return grave, POSSIBLE, "only the ids of its members are in the data, so a stop and a crash look the same"
    if any(s.member.instance_id for s in sessions):
        return grave, POSSIBLE, "its members were static, so a stop and a crash look the same"
    return grave, LIKELY, "its members left the group properly"


def _waiting(analysis: GroupAnalysis) -> dict[TopicPartition, int]:
    """Return the lag at the last sample by partition, without partitions whose offsets were removed."""
    lags = {}
    for topic_partition, ends in analysis.group.ends.items():
        commits = analysis.group.commits.get(topic_partition)
        if commits is None or not len(commits.ts_ms) or not len(ends.sampled_ms):
            continue
        if len(commits.gone_ms) and commits.gone_ms[-1] >= commits.ts_ms[-1]:
            continue
        lag = int(lag_at_samples(ends, commits)[-1])
        if lag > 0:
            lags[topic_partition] = lag
    return lags
