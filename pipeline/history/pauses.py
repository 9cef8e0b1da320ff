"""When a group that commits regularly did not: short stops, which say something only beside those of other groups."""

from __future__ import annotations

import numpy as np

from kohort.pipeline.history.commit_history import CommitHistory, distinct
from kohort.pipeline.history.partition_owners import Ownership

SHORTEST_MS = 3_000
TIMES_USUAL = 3
REGULAR_MS = 5_000
"""A group whose commits are usually further apart shows no short stop."""
FEWEST = 10
MOST = 100
"""The longest are kept: a group with more of them is restless by itself."""


def pauses(commits: CommitHistory, ownership: Ownership) -> list[tuple[int, int]] | None:
    """(from, to) of the stretches without any commit, in order; None for a group that doesn't commit regularly."""
    every = [partition.sorted_ms for partition in commits.partitions.values()]
    moments = distinct(every)
    if len(moments) < FEWEST:
        return None
    gaps = np.diff(moments)
    usual = min((float(np.median(np.diff(each))) for each in every if len(each) > 2), default=float(np.median(gaps)))
    if usual > REGULAR_MS:
        return None
    long = np.flatnonzero(gaps >= max(SHORTEST_MS, TIMES_USUAL * usual))
    found = [(int(moments[n]), int(moments[n + 1])) for n in long]
    found = [(start, end) for start, end in found if ownership.populated(start + 1, end - 1)]
    return sorted(sorted(found, key=lambda each: each[0] - each[1])[:MOST])
