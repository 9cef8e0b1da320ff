"""Rows about what a group consumed: commits, lag, throughput, stalls, and how evenly the work was shared."""

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
    for (topic, part), each in commit_minutes(analysis.commits):
        yield {
            "topic": topic,
            "part": part,
            "minute": each.minute,
            "commits": each.commits,
            "offset_delta": each.advanced,
            "max_gap_ms": each.max_gap_ms,
            "rewinds": each.rewinds,
            "day": day_of(each.minute),
        }


def commit_pause_rows(analysis: GroupAnalysis) -> list[CommitPauseRow]:
    found, commits = pauses(analysis.commits, analysis.ownership), analysis.commits
    if found is None or commits.first_ms is None or commits.last_ms is None:
        return []
    stretches: list[tuple[int, int] | tuple[None, None]] = [*found] or [(None, None)]
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
            "minute": each.minute,
            "lag": each.lag,
            "time_lag_ms": each.time_lag_ms,
            "owner": each.owner,
            "day": day_of(each.minute),
        }
        for (topic, part), each in lag_minutes(analysis)
    ]


def throughput_rows(analysis: GroupAnalysis) -> list[ThroughputRow]:
    return [
        {"start_ms": each.start_ms, "step_ms": each.step_ms, "offsets": each.offsets, "day": day_of(each.start_ms)}
        for each in throughput(analysis.commits)
    ]


def assignment_skew_rows(analysis: GroupAnalysis) -> list[AssignmentSkewRow]:
    rows: list[AssignmentSkewRow] = []
    for generation, found in zip(analysis.generations, analysis.skews, strict=True):
        if found is None:
            continue
        rows.append(
            {
                "generation": generation.number,
                "min_parts": found.min_parts,
                "max_parts": found.max_parts,
                "mean_parts": found.mean_parts,
                "skew": found.skew,
                "cv": found.cv,
                "idle_members": found.idle_members,
                "weighted_skew": found.weighted,
                "hot_member": found.hot_member,
                "members": found.members,
                "lasted_s": found.lasted_s,
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
