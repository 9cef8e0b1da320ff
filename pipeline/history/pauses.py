"""Pauses of a group that commits regularly: short standstills, significant only together with those of other groups."""

from __future__ import annotations

import numpy as np

from kohort.pipeline.history.commit_history import CommitHistory, distinct, median, median_gap
from kohort.pipeline.history.partition_owners import Ownership

SHORTEST_MS = 3_000
TIMES_USUAL = 3
REGULAR_MS = 5_000  # a longer usual gap between commits hides short standstills
FEWEST = 10
MOST = 100  # only the longest are kept: a group with more of them is irregular by itself


def pauses(commits: CommitHistory, ownership: Ownership) -> list[tuple[int, int]] | None:
    """Return (from, to) of periods without any commit, in order, or None if the group doesn't commit regularly."""
    every = [partition.sorted_ms for partition in commits.partitions.values()]
    moments = distinct(every)
    if len(moments) < FEWEST:
        return None
    gaps = np.diff(moments)
    usual = min((median_gap(column) for column in every if len(column) > 2), default=median(gaps))
    if usual > REGULAR_MS:
        return None
    long = np.flatnonzero(gaps >= max(SHORTEST_MS, TIMES_USUAL * usual))
    periods = [(int(moments[n]), int(moments[n + 1])) for n in long]
    periods = [(start, end) for start, end in periods if ownership.populated(start + 1, end - 1)]
    return sorted(sorted(periods, key=lambda period: period[0] - period[1])[:MOST])
