"""Rows about the whole group: daily health, storms, and remarks on its data."""

from __future__ import annotations

from kohort.pipeline.gold.gold_rows import DataIssueRow, GroupHealthRow, StormRow
from kohort.pipeline.history.days import day_of
from kohort.pipeline.history.group_analysis import GroupAnalysis
from kohort.pipeline.history.group_health import health_by_day
from kohort.pipeline.history.inputs import Generation
from kohort.pipeline.history.zones import QUARTER_MS


def group_health_rows(analysis: GroupAnalysis) -> list[GroupHealthRow]:
    return [
        {
            "group_type": analysis.group_type,
            "rebalances": health.rebalances,
            "follow_ups": health.follow_ups,
            "evictions": health.evictions,
            "time_rebalancing_s": health.rebalancing_s,
            "share_rebalancing": health.rebalancing_share,
            "p50_total_ms": health.p50_total_ms,
            "p95_total_ms": health.p95_total_ms,
            "max_total_ms": health.max_total_ms,
            "unavailable_partition_s_lo": health.unavailable_partition_s[0],
            "unavailable_partition_s_hi": health.unavailable_partition_s[1],
            "no_commit_s": health.no_commit_s,
            "commits": health.commits,
            "top_cause": health.top_cause,
            "top_client": health.top_client,
            "score": health.score,
            "minus_unavailable": health.minus_unavailable,
            "minus_storms": health.minus_storms,
            "minus_evictions": health.minus_evictions,
            "has_records": bool(analysis.group.records),
            "has_events": analysis.events.any,
            "sampled_share": health.sampled_share,
            "unknown_members": _unknown_members(analysis),
            "first_ms": health.first_ms,
            "last_ms": health.last_ms,
            "day": health.day,
        }
        for health in health_by_day(analysis)
    ]


def _unknown_members(analysis: GroupAnalysis) -> int:
    """Count members known by id only."""
    if analysis.share is not None:
        return sum(stay.name == stay.member_id for stay in analysis.share.stays)
    return sum(not session.member.is_known for session in analysis.sessions)


def storm_rows(analysis: GroupAnalysis) -> list[StormRow]:
    return [
        {
            "storm_id": storm.storm_id,
            "start_ms": storm.start_ms,
            "end_ms": storm.end_ms,
            "rebalances": len(storm.rebalances),
            "time_rebalancing_s": storm.busy_ms / 1000,
            "share": storm.share,
            "main_cause": storm.main_cause,
            "main_client": storm.main_client,
            "day": day_of(storm.start_ms),
        }
        for storm in analysis.storms
    ]


def data_issue_rows(analysis: GroupAnalysis) -> list[DataIssueRow]:
    """Return violations of facts that hold in every sound log: they are reported, not hidden."""
    issues: list[tuple[str, str, int]] = []
    last: Generation | None = None
    for generation in analysis.timeline.generations:
        if generation.from_events:
            break
        if last is not None and last.end_ms == generation.stable_ms and generation.number < last.number:
            issues.append(("generation_went_back", f"{last.number} -> {generation.number}", generation.stable_ms))
        if generation.leader and generation.members and generation.leader not in generation.members:
            issues.append(("leader_not_a_member", generation.leader, generation.stable_ms))
        if last is not None and generation.stable_ms < last.stable_ms:
            issues.append(("clock_step", f"back by {last.stable_ms - generation.stable_ms} ms", generation.stable_ms))
        last = generation
    if not analysis.group.commits and not analysis.group.records and analysis.events.any:
        issues.append(("events_only", "no offsets topic: causes and times are known, owners and commits are not", 0))
    for log, ahead_ms in analysis.group.ahead_ms.items():
        rule = "clock_skew" if ahead_ms % QUARTER_MS else "time_zone"
        issues.append((rule, _ahead(log, ahead_ms), analysis.span_ms[0]))
    if count := analysis.group.duplicate_lines:
        text = f"{count} lines are in several logs, such as a log and its rotated part; each was counted once"
        issues.append(("duplicate_lines", text, analysis.span_ms[0]))
    if analysis.group.conflicts:
        text = (
            f"{analysis.group.conflicts} records differ between sources at the same position of the log, and one of "
            "each was left out; if these are logs of different clusters, analyze each cluster separately"
        )
        issues.append(("conflicting_sources", text, analysis.span_ms[0]))
    if any(not r.complete for r in analysis.rebalances):
        text = "records before the first known generation are missing (compacted?): earlier and lost ones are unknown"
        issues.append(("compacted_range", text, analysis.span_ms[0]))
    return [
        {"rule": rule, "keys": analysis.group_id, "detail": detail, "day": day_of(ts or analysis.span_ms[0])}
        for rule, detail, ts in issues
    ]


def _ahead(log: str, ahead_ms: int) -> str:
    side = "ahead of" if ahead_ms > 0 else "behind"
    if ahead_ms % QUARTER_MS:
        return (
            f"the clock of {log}'s text log is {abs(ahead_ms) / 1000:.3f} s {side} the offsets topic, by matching "
            "lines and records; its lines were moved accordingly"
        )
    hours, minutes = divmod(abs(ahead_ms) // 60_000, 60)
    return (
        f"the broker's text log is {hours}:{minutes:02d} h {side} the offsets topic; its lines were moved, as the time "
        "zones seem to differ"
    )
