"""Minute by minute: commits and lag of each partition."""

from __future__ import annotations

from typing import Any

import numpy as np

from kohort.pipeline.history.lag import lag_at_samples, time_lag_ms
from kohort.pipeline.history.picture import Picture

MINUTE_MS = 60_000


def commit_minutes(picture: Picture) -> list[dict[str, Any]]:
    """Commits, offsets advanced (going back doesn't count), longest gap ending in the minute, and rewinds."""
    from kohort.pipeline.gold.rows import day_of

    rows = []
    for (topic, part), partition in picture.commits.partitions.items():
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


def lag_minutes(picture: Picture) -> list[dict[str, Any]]:
    """Lag at the last sample of each minute, in records and in time."""
    from kohort.pipeline.gold.rows import day_of

    rows = []
    for (topic, part), ends in picture.group.ends.items():
        commits = picture.group.commits.get((topic, part))
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
                    "owner": picture.ownership.owner_name((topic, part), now),
                    "day": day_of(minute),
                }
            )
    return rows
