"""R39: a partition with records has no owner for long, although the group reads its topic.

Clients find new partitions when they refresh metadata (metadata.max.age.ms, five minutes by default). Until then the
partitions have no owner; a consumer that starts at the end (auto.offset.reset=latest) never reads what arrived before.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from kohort.pipeline.history.group_analysis import GroupAnalysis
from kohort.pipeline.history.inputs import Generation, TopicPartition
from kohort.pipeline.rules.finding import (
    CERTAIN,
    CRITICAL,
    LIKELY,
    POSSIBLE,
    WARNING,
    Finding,
    listed,
    seconds,
    several,
)

ID = "R39"
LONG_MS = 30_000
TIMES_FASTER = 5  # a consumer this much faster than the group ever was has skipped records


@dataclass(frozen=True, slots=True)
class _Unowned:
    """Period in which a partition had records and no owner, with the position of its first consumer."""

    place: TopicPartition
    start_ms: int
    end_ms: int
    records: int
    skipped: bool
    open: bool


def find(analysis: GroupAnalysis) -> Iterator[Finding]:
    periods = [period for place in sorted(analysis.group.ends) if (period := _unowned(analysis, place)) is not None]
    if not periods:
        return
    start, end = min(period.start_ms for period in periods), max(period.end_ms for period in periods)
    records = sum(period.records for period in periods)
    skipped = [period for period in periods if period.skipped]
    topics = sorted({period.place[0] for period in periods})
    names = listed(f"{topic}-{part}" for topic, part in (period.place for period in periods))
    still = any(period.open for period in periods)
    text = f"{several(len(periods), 'partition')} ({names}) had no owner for up to {seconds(end - start)}"
    text += f"{', and still have none at the end' if still else ''}, while {several(records, 'record')} arrived and the group had members"
    if skipped:
        lost = sum(period.records for period in skipped)
        text += f"; their first owner started at their end: {several(lost, 'record')} were skipped"
        text += " (auto.offset.reset=latest)"
    elif not still:
        text += "; with auto.offset.reset=latest their first owner skipped those records"
    yield Finding(
        ID,
        "Partitions without an owner",
        CRITICAL if skipped or still else WARNING,
        CERTAIN,
        text,
        "Lower metadata.max.age.ms (librdkafka: topic.metadata.refresh.interval.ms) before partitions are added, or restart "
        "a member right after it: then the group discovers them at once. Set auto.offset.reset=earliest, so that nothing is "
        "skipped in a new partition."
        if not still
        else "Check why no member is assigned these partitions: do all members subscribe to the topic, and have their clients "
        "seen that it grew?",
        start,
        end,
        [],
        {
            "topics": topics,
            "partitions": len(periods),
            "records": records,
            "lasted_ms": end - start,
            "open": still,
        },
        cause_confidence=LIKELY if skipped else POSSIBLE,
    )


def _unowned(analysis: GroupAnalysis, place: TopicPartition) -> _Unowned | None:
    """Return the longest period in which the partition had records and the group owned only others of its topic."""
    ends = analysis.group.ends[place]
    if len(ends.sampled_ms) < 2:
        return None
    has_records = np.flatnonzero(ends.log_end > ends.log_start)
    if not len(has_records):
        return None
    since = int(ends.sampled_ms[has_records[0]])
    best: tuple[int, int] | None = None
    for start, end in _stretches(analysis, place):
        start = max(start, since)
        if end - start >= LONG_MS and (best is None or end - start > best[1] - best[0]):
            best = start, end
    if best is None:
        return None
    inside = ends.log_end[(ends.sampled_ms >= best[0]) & (ends.sampled_ms <= best[1])]
    if len(inside) < 2:
        return None
    waiting = int(
        inside[-1] - (ends.log_start[has_records[0]] if place not in analysis.commits.partitions else inside[0])
    )
    first = _first_commit(analysis, place, best[1])
    records = max(0, int(inside[-1]) - int(ends.log_start[has_records[0]])) if first is not None else waiting
    if not records:
        return None
    skipped = first is not None and _was_skipped(analysis, int(inside[-1]), records, first, best[1])
    return _Unowned(place, best[0], best[1], records, skipped, best[1] >= analysis.group.until_ms)


def _stretches(analysis: GroupAnalysis, place: TopicPartition) -> Iterator[tuple[int, int]]:
    """Yield periods in which the topic had owners but this partition had none, merged over generations."""
    start: int | None = None
    end = 0
    for generation in analysis.generations:
        if _leaves_out(generation, place):
            start = generation.stable_ms if start is None else start
            end = generation.end_ms or analysis.group.until_ms
        elif start is not None and (generation.size == 0 or place in generation.owners):
            yield start, end
            start = None
    if start is not None:
        yield start, end


def _leaves_out(generation: Generation, place: TopicPartition) -> bool:
    """Return whether the partition has no owner; unknown if members are known by their ids only."""
    return (
        place not in generation.owners
        and any(topic == place[0] for topic, _ in generation.owners)
        and all(member.is_known for member in generation.members.values())
    )


def _first_commit(analysis: GroupAnalysis, place: TopicPartition, from_ms: int) -> tuple[int, int] | None:
    """Return time and offset of the very first commit, if it was after this time."""
    partition = analysis.commits.partitions.get(place)
    if partition is None or int(partition.commits.ts_ms[0]) < from_ms:
        return None
    return int(partition.commits.ts_ms[0]), int(partition.commits.committed[0])


def _was_skipped(analysis: GroupAnalysis, end_offset: int, records: int, first: tuple[int, int], owned_ms: int) -> bool:
    """Return whether the first commit is beyond all records, earlier than the group could have read them."""
    at_ms, committed = first
    fastest = max((_rate(analysis, place) for place in analysis.commits.partitions), default=0.0)
    needed = TIMES_FASTER * fastest * max(1.0, (at_ms - owned_ms) / 1000)
    return committed >= end_offset and records > needed > 0


def _rate(analysis: GroupAnalysis, place: TopicPartition) -> float:
    """Return the records per second over the whole history of a partition."""
    commits = analysis.commits.partitions[place].commits
    length_s = (int(commits.ts_ms[-1]) - int(commits.ts_ms[0])) / 1000
    return (int(commits.committed[-1]) - int(commits.committed[0])) / length_s if length_s >= 1 else 0.0
