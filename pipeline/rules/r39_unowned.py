"""R39: a partition that has records belongs to nobody for long, although the group reads its topic.

New partitions are found when the clients ask for metadata again (metadata.max.age.ms, five minutes by default). Until
then nobody owns them; who begins at the end then (auto.offset.reset=latest) never reads what came meanwhile.
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
TIMES_FASTER = 5
"""Who got through so much faster than the group ever was has skipped it."""


@dataclass(frozen=True, slots=True)
class _Unowned:
    """A partition, since when it had records and no owner, until when, how many came, and where its reader began."""

    place: TopicPartition
    start_ms: int
    end_ms: int
    records: int
    skipped: bool
    open: bool


def find(analysis: GroupAnalysis) -> Iterator[Finding]:
    found = [each for place in sorted(analysis.group.ends) if (each := _unowned(analysis, place)) is not None]
    if not found:
        return
    start, end = min(each.start_ms for each in found), max(each.end_ms for each in found)
    records = sum(each.records for each in found)
    skipped = [each for each in found if each.skipped]
    topics = sorted({each.place[0] for each in found})
    names = listed(f"{topic}-{part}" for topic, part in (each.place for each in found))
    still = any(each.open for each in found)
    text = f"{several(len(found), 'partition')} ({names}) belonged to nobody for up to {seconds(end - start)}"
    text += f"{', and still do at the end' if still else ''}, while {several(records, 'record')} came and the group had members"
    if skipped:
        lost = sum(each.records for each in skipped)
        text += f"; when they got an owner it began at their end: {several(lost, 'record')} were skipped"
        text += " (auto.offset.reset=latest)"
    elif not still:
        text += "; where auto.offset.reset is latest, whoever got them then skipped those records"
    yield Finding(
        ID,
        "Partitions that nobody reads",
        CRITICAL if skipped or still else WARNING,
        CERTAIN,
        text,
        "Lower metadata.max.age.ms (librdkafka: topic.metadata.refresh.interval.ms) before partitions are added, or restart "
        "a member right after it: then the group finds them at once. Set auto.offset.reset=earliest, so that nothing is "
        "skipped in a partition that is new."
        if not still
        else "Look why no member is assigned these partitions: do all members subscribe to the topic, and have their clients "
        "seen that it grew?",
        start,
        end,
        [],
        {
            "topics": topics,
            "partitions": len(found),
            "records": records,
            "lasted_ms": end - start,
            "open": still,
        },
        cause_confidence=LIKELY if skipped else POSSIBLE,
    )


def _unowned(analysis: GroupAnalysis, place: TopicPartition) -> _Unowned | None:
    """The longest time in which the partition had records and the group had owners of its topic, but none of it."""
    ends = analysis.group.ends[place]
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
    """Times in which the topic had owners and this partition had none, generations in a row joined."""
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
    """What members own of whom only the id was read isn't known."""
    return (
        place not in generation.owners
        and any(topic == place[0] for topic, _ in generation.owners)
        and all(member.is_known for member in generation.members.values())
    )


def _first_commit(analysis: GroupAnalysis, place: TopicPartition, from_ms: int) -> tuple[int, int] | None:
    """When and what was committed first of all, if that was after this moment."""
    partition = analysis.commits.partitions.get(place)
    if partition is None or int(partition.commits.ts_ms[0]) < from_ms:
        return None
    return int(partition.commits.ts_ms[0]), int(partition.commits.committed[0])


def _was_skipped(analysis: GroupAnalysis, end_offset: int, records: int, first: tuple[int, int], owned_ms: int) -> bool:
    """Whether the first commit lies beyond everything that had come, sooner than the group could have read that."""
    at_ms, committed = first
    fastest = max((_rate(analysis, place) for place in analysis.commits.partitions), default=0.0)
    needed = TIMES_FASTER * fastest * max(1.0, (at_ms - owned_ms) / 1000)
    return committed >= end_offset and records > needed > 0


def _rate(analysis: GroupAnalysis, place: TopicPartition) -> float:
    """Records a second over the whole history of a partition."""
    commits = analysis.commits.partitions[place].commits
    length_s = (int(commits.ts_ms[-1]) - int(commits.ts_ms[0])) / 1000
    return (int(commits.committed[-1]) - int(commits.committed[0])) / length_s if length_s >= 1 else 0.0
