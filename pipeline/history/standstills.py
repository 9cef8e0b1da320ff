"""Committed offsets that stay while one owner of their partition after the other ends."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from kohort.pipeline.history.group_analysis import GroupAnalysis
from kohort.pipeline.history.inputs import TopicPartition
from kohort.pipeline.history.lag import most_lag
from kohort.pipeline.history.member_sessions import Session

OWNERS = 2


@dataclass(frozen=True, slots=True)
class Standstill:
    """A stretch in which a partition's committed offset stayed, and the sessions of its owners that ended in it.

    lag: the most that waited; None where no sample tells.
    """

    topic_partition: TopicPartition
    offset: int
    start_ms: int
    end_ms: int
    ended: tuple[Session, ...]
    lag: int | None

    @property
    def name(self) -> str:
        """Where the record is that everybody met."""
        return f"{self.topic_partition[0]}-{self.topic_partition[1]}@{self.offset}"


def standstills(analysis: GroupAnalysis, ended: list[Session]) -> list[Standstill]:
    """Those in which at least two of these sessions ended as owners."""
    return [each for place in analysis.commits.partitions for each in _of_partition(analysis, place, ended)]


def gravest(found: list[Standstill]) -> list[Standstill]:
    """Those in which most sessions ended."""
    most = max((len(each.ended) for each in found), default=0)
    return [each for each in found if len(each.ended) == most]


def _of_partition(analysis: GroupAnalysis, place: TopicPartition, ended: list[Session]) -> Iterator[Standstill]:
    partition = analysis.commits.partitions[place]
    moved = np.flatnonzero(np.concatenate(([True], partition.deltas != 0)))
    times_ms = partition.commits.ts_ms[moved].tolist()
    offsets = partition.commits.committed[moved].tolist()
    last_ms = min(analysis.group.until_ms, analysis.ownership.lived()[1])
    for start_ms, end_ms, offset in zip(times_ms, [*times_ms[1:], last_ms], offsets, strict=True):
        inside = [s for s in ended if start_ms < s.last_ms <= end_ms and _owned(analysis, place, s)]
        if len({session.member.member_id for session in inside}) >= OWNERS:
            lag = most_lag(analysis.group, place, start_ms, end_ms)
            yield Standstill(place, offset, start_ms, end_ms, tuple(inside), lag)


def _owned(analysis: GroupAnalysis, place: TopicPartition, session: Session) -> bool:
    """Whether the partition was its own when it ended. A generation ends when the next one is stored."""
    return any(
        generation.owners.get(place) == session.member.member_id
        for generation in analysis.generations
        if generation.stable_ms <= session.last_ms
        and (generation.end_ms is None or generation.end_ms >= session.last_ms)
    )
