"""Committed offsets that don't change while several owners of the partition end, one after the other."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from kohort.pipeline.history.group_analysis import GroupAnalysis
from kohort.pipeline.history.inputs import TopicPartition
from kohort.pipeline.history.lag import most_lag
from kohort.pipeline.history.member_sessions import Session

OWNERS = 2
FEWEST_COMMITS = 20  # commits that show whether members commit each record
MOST_SKIPS = 1  # larger steps of members that commit each record: an operator skipped the record


@dataclass(frozen=True, slots=True)
class Standstill:
    """A period in which a partition's committed offset didn't change, and the owners' sessions that ended in it.

    Attributes:
        lag: Highest number of waiting records, or None without samples.
        next_offset: Offset that was committed next, or None if none was.
        is_exact: Whether the record at the offset is the one that was not processed: members commit each record.
    """

    topic_partition: TopicPartition
    offset: int
    start_ms: int
    end_ms: int
    ended: tuple[Session, ...]
    lag: int | None
    next_offset: int | None
    is_exact: bool

    @property
    def name(self) -> str:
        """Committed position at which all owners began."""
        return f"{self._partition}@{self.offset}"

    @property
    def location(self) -> str:
        """Location of the record that was not processed: members that commit batches may have come further."""
        return f"at {self.name}" if self.is_exact else f"at or after {self.name}"

    @property
    def how_to_read(self) -> str:
        """Sentence about reading the record."""
        console = "kafka-console-consumer --partition … --offset …"
        if self.is_exact:
            return f"Read the record at {self.name} ({console})"
        until = f", before {self._partition}@{self.next_offset}" if self.next_offset is not None else ""
        return (
            f"Read the records from {self.name} on ({console}). Members commit after several records, so it is one of "
            f"these{until}: run one consumer with max.poll.records=1 and a commit after each record, or log each "
            "offset, to see where it stops"
        )

    @property
    def _partition(self) -> str:
        return f"{self.topic_partition[0]}-{self.topic_partition[1]}"


def standstills(analysis: GroupAnalysis, ended: list[Session]) -> list[Standstill]:
    """Return periods in which at least two of these sessions ended as owners."""
    return [
        standstill
        for topic_partition in analysis.commits.partitions
        for standstill in _of_partition(analysis, topic_partition, ended)
    ]


def gravest(candidates: list[Standstill]) -> list[Standstill]:
    most = max((len(standstill.ended) for standstill in candidates), default=0)
    return [standstill for standstill in candidates if len(standstill.ended) == most]


def _of_partition(
    analysis: GroupAnalysis, topic_partition: TopicPartition, ended: list[Session]
) -> Iterator[Standstill]:
    partition = analysis.commits.partitions[topic_partition]
    moved = np.flatnonzero(np.concatenate(([True], partition.deltas != 0)))
    times_ms = partition.commits.ts_ms[moved].tolist()
    offsets = partition.commits.committed[moved].tolist()
    last_ms = min(analysis.group.until_ms, analysis.ownership.lived()[1])
    deltas = partition.deltas[partition.deltas > 0]
    is_exact = len(deltas) >= FEWEST_COMMITS and int((deltas > 1).sum()) <= MOST_SKIPS
    ends = zip([*times_ms[1:], last_ms], [*offsets[1:], None], strict=True)
    for start_ms, (end_ms, next_offset), offset in zip(times_ms, ends, offsets, strict=True):
        inside = [s for s in ended if start_ms < s.last_ms <= end_ms and _owned(analysis, topic_partition, s)]
        if len({session.member.member_id for session in inside}) >= OWNERS:
            lag = most_lag(analysis.group, topic_partition, start_ms, end_ms)
            yield Standstill(topic_partition, offset, start_ms, end_ms, tuple(inside), lag, next_offset, is_exact)


def _owned(analysis: GroupAnalysis, topic_partition: TopicPartition, session: Session) -> bool:
    """Return whether the session owned the partition when it ended. A generation ends when the next one is stored."""
    return any(
        generation.owners.get(topic_partition) == session.member.member_id
        for generation in analysis.generations
        if generation.stable_ms <= session.last_ms
        and (generation.end_ms is None or generation.end_ms >= session.last_ms)
    )
