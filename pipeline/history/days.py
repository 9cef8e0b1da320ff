"""Days in UTC: the tables are kept by day."""

from __future__ import annotations

import datetime
from functools import lru_cache

DAY_MS = 86_400_000


def day_of(ms: int) -> str:
    """The date of a moment, as 2026-05-31."""
    return _date(ms // DAY_MS)


@lru_cache(maxsize=1000)
def _date(number: int) -> str:
    return (datetime.date(1970, 1, 1) + datetime.timedelta(days=number)).isoformat()


def days_between(start_ms: int, end_ms: int) -> list[tuple[str, int, int]]:
    """(day, from, to) of each day in a stretch of time, its last moment included; none where it ends at 0."""
    if not end_ms:
        return []
    return [
        (day_of(day * DAY_MS), max(start_ms, day * DAY_MS), min(end_ms + 1, (day + 1) * DAY_MS))
        for day in range(start_ms // DAY_MS, end_ms // DAY_MS + 1)
    ]
