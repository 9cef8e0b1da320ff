"""Rows about a group's consumption: commits, lag, throughput, stalls, and load skew."""

from __future__ import annotations

from collections.abc import Iterator

from kohort.pipeline.gold.gold_rows import (
    AssignmentSkewRow,
    CommitMinuteRow,
    CommitPauseRow,
    CommitStallRow,
    LagMinuteRow,
    ThroughputRow,
)
from kohort.pipeline.history.by_minute import commit_minutes, lag_minutes, throughput
from kohort.pipeline.history.days import day_of
from kohort.pipeline.history.group_analysis import GroupAnalysis
from kohort.pipeline.history.pauses import pauses


def commit_minute_rows(analysis: GroupAnalysis) -> Iterator[CommitMinuteRow]:
    for (topic, part), minute in commit_minutes(analysis.commits):
        yield {
            "topic": topic,
            "part": part,
            "minute": minute.minute,
            "commits": minute.commits,
            "offset_delta": minute.advanced,
            "max_gap_ms": minute.max_gap_ms,
            "rewinds": minute.rewinds,
            "day": day_of(minute.minute),
        }


def commit_pause_rows(analysis: GroupAnalysis) -> list[CommitPauseRow]:
    periods, commits = pauses(analysis.commits, analysis.ownership), analysis.commits
    if periods is None or commits.first_ms is None or commits.last_ms is None:
        return []
    stretches: list[tuple[int, int] | tuple[None, None]] = [*periods] or [(None, None)]
    return [
        {
            "start_ms": start,
            "end_ms": end,
            "first_ms": commits.first_ms,
            "last_ms": commits.last_ms,
            "day": day_of(commits.first_ms if start is None else start),
        }
        for start, end in stretches
    ]


def lag_minute_rows(analysis: GroupAnalysis) -> list[LagMinuteRow]:
    return [
        {
            "topic": topic,
            "part": part,
            "minute": minute.minute,
            "lag": minute.lag,
            "time_lag_ms": minute.time_lag_ms,
            "owner": minute.owner,
            "day": day_of(minute.minute),
        }
        for (topic, part), minute in lag_minutes(analysis)
    ]


def throughput_rows(analysis: GroupAnalysis) -> list[ThroughputRow]:
    return [
        {"start_ms": step.start_ms, "step_ms": step.step_ms, "offsets": step.offsets, "day": day_of(step.start_ms)}
        for step in throughput(analysis.commits)
    ]


def assignment_skew_rows(analysis: GroupAnalysis) -> list[AssignmentSkewRow]:
    rows: list[AssignmentSkewRow] = []
    for generation, skew in zip(analysis.generations, analysis.skews, strict=True):
        if skew is None:
            continue
        rows.append(
            {
                "generation": generation.number,
                "min_parts": skew.min_parts,
                "max_parts": skew.max_parts,
                "mean_parts": skew.mean_parts,
                "skew": skew.skew,
                "cv": skew.cv,
                "idle_members": skew.idle_members,
                "weighted_skew": skew.weighted,
                "hot_member": skew.hot_member,
                "members": skew.members,
                "lasted_s": skew.lasted_s,
                "day": day_of(generation.stable_ms),
            }
        )
    return rows


def commit_stall_rows(analysis: GroupAnalysis) -> list[CommitStallRow]:
    return [
        {
            "topic": stall.topic_partition[0] if stall.topic_partition else None,
            "part": stall.topic_partition[1] if stall.topic_partition else None,
            "start_ms": stall.start_ms,
            "end_ms": stall.end_ms,
            "kind": stall.kind,
            "owner": stall.owner,
            "during_rebalance": stall.during_rebalance,
            "burrow_status": stall.burrow,
            "lag": stall.lag,
            "offsets_back": stall.offsets or None,
            "day": day_of(stall.start_ms),
        }
        for stall in analysis.stalls
    ]
