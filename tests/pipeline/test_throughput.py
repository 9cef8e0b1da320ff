"""How fast a group was over time: nothing lost, fine enough to see it stop, never too many steps."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from kohort.pipeline.history.by_minute import MOST_STEPS, STEPS_MS, commit_minutes, throughput
from kohort.pipeline.history.group_analysis import analyse
from kohort.pipeline.history.inputs import GroupInput, PartitionCommits


def group(times_ms: list[int], offsets: list[int]) -> GroupInput:
    """Build one partition with commits at these times."""
    commits = PartitionCommits(np.array(times_ms, np.int64), np.array(offsets, np.int64))
    return GroupInput("g", commits={("t", 0): commits}, until_ms=times_ms[-1])


def test_as_much_as_by_the_minute(recorded_groups: dict[str, GroupInput]) -> None:
    for name, recorded in recorded_groups.items():
        analysis = analyse(recorded)
        rows = throughput(analysis.commits)
        assert sum(row.offsets for row in rows) == sum(row.advanced for _, row in commit_minutes(analysis.commits)), (
            name
        )
        assert len(rows) <= MOST_STEPS + 1


def test_stop_is_detected(recorded_groups: dict[str, GroupInput]) -> None:
    analysis = analyse(recorded_groups["one-slow-member"])
    rows = throughput(analysis.commits)
    step = rows[0].step_ms
    assert step <= 2_000
    stops = [stall for stall in analysis.stalls if stall.kind == "group_silent"]
    assert len(stops) >= 3
    for stop in stops:
        inside = [row for row in rows if stop.start_ms < row.start_ms and row.start_ms + step < stop.end_ms]
        assert inside == []


def test_commit_interval_is_no_stop() -> None:
    times = [1_000_000 + 5_000 * n for n in range(100)]
    rows = throughput(analyse(group(times, [10 * n for n in range(100)])).commits)
    assert rows[0].step_ms == 5_000
    assert [b.start_ms - a.start_ms for a, b in pairwise(rows)] == [5_000] * (len(rows) - 1)


def test_month_has_coarser_steps() -> None:
    day = 86_400_000
    rows = throughput(analyse(group([n * day // 24 for n in range(24 * 31)], list(range(24 * 31)))).commits)
    assert rows[0].step_ms in STEPS_MS
    assert len(rows) <= MOST_STEPS + 1


def test_going_back_is_no_progress() -> None:
    assert throughput(analyse(group([1_000, 2_000, 3_000], [100, 50, 0])).commits) == []


def test_minutes_after_clock_set_back() -> None:
    rows = [row for _, row in commit_minutes(analyse(group([120_000, 60_000, 61_500], [10, 20, 40])).commits)]
    assert [(row.minute, row.commits, row.advanced, row.max_gap_ms) for row in rows] == [
        (60_000, 2, 30, 1_500),
        (120_000, 1, 0, 0),
    ]


def test_partitions_keep_their_minutes_apart() -> None:
    commits = PartitionCommits(np.array([60_000, 61_000], np.int64), np.array([5, 9], np.int64))
    back = PartitionCommits(np.array([60_500, 130_000], np.int64), np.array([7, 3], np.int64))
    groups = GroupInput("g", commits={("t", 0): commits, ("t", 1): back}, until_ms=130_000)
    assert [(place, *row) for place, row in commit_minutes(analyse(groups).commits)] == [
        (("t", 0), 60_000, 2, 4, 1_000, 0),
        (("t", 1), 60_000, 1, 0, 0, 0),
        (("t", 1), 120_000, 1, 0, 69_500, 1),
    ]
