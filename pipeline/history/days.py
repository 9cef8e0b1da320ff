"""Days in UTC, by which the tables are partitioned."""

from __future__ import annotations

import datetime
from functools import lru_cache

DAY_MS = 86_400_000


def day_of(ms: int) -> str:
    return _date(ms // DAY_MS)


@lru_cache(maxsize=1000)
def _date(number: int) -> str:
    return (datetime.date(1970, 1, 1) + datetime.timedelta(days=number)).isoformat()


def days_between(start_ms: int, end_ms: int) -> list[tuple[str, int, int]]:
    """Return (day, from, to) of each day in a period including its last moment, or nothing if it ends at 0."""
    if not end_ms:
        return []
    return [
        (day_of(day * DAY_MS), max(start_ms, day * DAY_MS), min(end_ms + 1, (day + 1) * DAY_MS))
        for day in range(start_ms // DAY_MS, end_ms // DAY_MS + 1)
    ]
