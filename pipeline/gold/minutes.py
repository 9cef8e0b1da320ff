"""Over time: commits and lag of each partition by the minute, and how fast the whole group was."""

from __future__ import annotations

from typing import Any

import numpy as np

from kohort.pipeline.history.group_analysis import GroupAnalysis
from kohort.pipeline.history.lag import lag_at_samples, time_lag_ms

MINUTE_MS = 60_000
STEPS_MS = (1_000, 2_000, 5_000, 10_000, 15_000, 30_000, 60_000, 120_000, 300_000, 600_000, 1_800_000, 3_600_000)
MOST_STEPS = 900


def commit_minutes(analysis: GroupAnalysis) -> list[dict[str, Any]]:
    """Commits, offsets advanced (going back doesn't count), longest gap ending in the minute, and rewinds."""
    from kohort.pipeline.gold.rows import day_of

    rows = []
    for (topic, part), partition in analysis.commits.partitions.items():
        times = partition.commits.ts_ms
        minutes, start = np.unique(times // MINUTE_MS, return_index=True)
        delta = np.concatenate(([0], partition.deltas))
        gap = np.concatenate(([0], partition.gaps))
        count = np.diff(np.append(start, len(times)))
        advanced = np.add.reduceat(np.maximum(delta, 0), start)
        longest = np.maximum.reduceat(gap, start)
        back = np.add.reduceat((delta < 0).astype(np.int64), start)
        for n, minute in enumerate((minutes * MINUTE_MS).tolist()):
            rows.append(
                {
                    "topic": topic,
                    "part": part,
                    "minute": minute,
                    "commits": int(count[n]),
                    "offset_delta": int(advanced[n]),
                    "max_gap_ms": int(longest[n]),
                    "rewinds": int(back[n]),
                    "day": day_of(minute),
                }
            )
    return rows


def lag_minutes(analysis: GroupAnalysis) -> list[dict[str, Any]]:
    """Lag at the last sample of each minute, in records and in time."""
    from kohort.pipeline.gold.rows import day_of

    rows = []
    for (topic, part), ends in analysis.group.ends.items():
        commits = analysis.group.commits.get((topic, part))
        if commits is None or not len(commits.ts_ms) or not len(ends.sampled_ms):
            continue
        lag = lag_at_samples(ends, commits)
        minutes = ends.sampled_ms // MINUTE_MS
        last = np.append(np.flatnonzero(np.diff(minutes)), len(minutes) - 1)
        for n in last.tolist():
            if lag[n] < 0:
                continue
            now = int(ends.sampled_ms[n])
            at = int(np.searchsorted(commits.ts_ms, now, "right")) - 1
            minute = int(minutes[n]) * MINUTE_MS
            rows.append(
                {
                    "topic": topic,
                    "part": part,
                    "minute": minute,
                    "lag": int(lag[n]),
                    "time_lag_ms": time_lag_ms(ends, int(commits.committed[at]), now) if lag[n] else 0,
                    "owner": analysis.ownership.owner_name((topic, part), now),
                    "day": day_of(minute),
                }
            )
    return rows


def throughput(analysis: GroupAnalysis) -> list[dict[str, Any]]:
    """Offsets that the group's commits advanced, in steps fine enough to see it stop; steps without any are left out.

    A step is as long as 19 of 20 pauses between the group's commits, so that an interval of commits doesn't look like a
    stop; and long enough that there are at most MOST_STEPS of them.
    """
    from kohort.pipeline.gold.rows import day_of

    partitions = [p for p in analysis.commits.partitions.values() if len(p.commits.ts_ms) > 1]
    if not partitions:
        return []
    times = np.concatenate([p.commits.ts_ms[1:] for p in partitions])
    advanced = np.concatenate([np.maximum(p.deltas, 0) for p in partitions])
    moments = np.unique(times[advanced > 0])
    if not len(moments):
        return []
    pauses = np.diff(moments)
    usual = float(np.percentile(pauses, 95)) if len(pauses) else 0.0
    least = max(usual, int(moments[-1] - moments[0]) / MOST_STEPS)
    step = next((each for each in STEPS_MS if each >= least), STEPS_MS[-1] * int(-(-least // STEPS_MS[-1])))
    steps, topic_partition = np.unique(times // step, return_inverse=True)
    sums = np.bincount(topic_partition, weights=advanced).astype(np.int64)
    return [
        {"start_ms": start, "step_ms": step, "offsets": total, "day": day_of(start)}
        for start, total in zip((steps * step).tolist(), sums.tolist(), strict=True)
        if total
    ]
