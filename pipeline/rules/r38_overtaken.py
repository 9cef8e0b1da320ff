"""R38: retention overtook the group: the log start moved beyond its committed offset, so that records were never read.

Samples of log starts show it. Clients that delete only processed records, as Kafka Streams does, leave the committed
offset at or after the start. A compacted log keeps its start.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from kohort.pipeline.history.group_analysis import GroupAnalysis
from kohort.pipeline.history.inputs import LogEnds, PartitionCommits, TopicPartition
from kohort.pipeline.rules.finding import CERTAIN, CRITICAL, INFO, WARNING, Finding, listed, moment, several

ID = "R38"
CLOCKS_MS = 5_000  # a commit this soon after a sample may have been before it


def find(analysis: GroupAnalysis) -> Iterator[Finding]:
    lost = overtaken(analysis)
    if not lost:
        return
    records = sum(count for _, count in lost.values())
    first = min(ms for ms, _ in lost.values())
    last_alive = max((s.last_ms for s in analysis.sessions), default=0)
    generation = analysis.ownership.generation_at(first)
    alive = generation is not None and generation.size > 0
    came_back = last_alive > first
    topics = listed(sorted({topic for topic, _ in lost}))
    worst = max(lost, key=lambda place: lost[place][1])
    text = (
        f"the log of {several(len(lost), 'partition')} of {topics} began after the group's committed offset, the first "
    )
    text += (
        f"time at {moment(first)} UTC: {several(records, 'record')} {'was' if records == 1 else 'were'} deleted before "
    )
    text += f"the group had read {'it' if records == 1 else 'them'}, most in partition {worst[1]} of {worst[0]}"
    text += "" if alive or came_back else "; the group had no members, and has had none since"
    yield Finding(
        ID,
        "Records were deleted before they were read",
        CRITICAL if alive else (WARNING if came_back else INFO),
        CERTAIN,
        text,
        "Raise the retention of the topic (retention.ms, retention.bytes) beyond the time the group can fall behind, and "
        "make the group faster, or add members: see its lag before that time. Alert on lag in time well below "
        "retention.ms.",
        first,
        max(ms for ms, _ in lost.values()),
        [],
        {
            "records": records,
            "partitions": len(lost),
            "topics": sorted({topic for topic, _ in lost}),
            "while_empty": not alive,
        },
    )


def overtaken(analysis: GroupAnalysis) -> dict[TopicPartition, tuple[int, int]]:
    """Return the first time and the number of records by partition."""
    lost = {}
    for place, ends in analysis.group.ends.items():
        commits = analysis.group.commits.get(place)
        if commits is not None and len(commits.ts_ms) and len(ends.sampled_ms):
            first, records = _of_partition(ends, commits)
            if records:
                lost[place] = (first, records)
    return lost


def _of_partition(ends: LogEnds, commits: PartitionCommits) -> tuple[int, int]:
    if ends.log_start.max() <= commits.committed.min():
        return 0, 0  # nearly always, and 50,000 partitions are compared
    at = np.searchsorted(commits.ts_ms, ends.sampled_ms + CLOCKS_MS, "right") - 1
    usable = np.flatnonzero((at >= 0) & (np.searchsorted(commits.ts_ms, ends.sampled_ms, "right") > 0))
    reached: dict[int, int] = {}  # by log start: the group's position before it continued after that start
    first = 0
    recreated = np.flatnonzero(np.diff(ends.log_end) < 0)  # another topic of that name from there on
    until_ms = int(ends.sampled_ms[recreated[0]]) if len(recreated) else int(ends.sampled_ms[-1])
    for n in usable.tolist():
        committed, start = int(commits.committed[at[n]]), int(ends.log_start[n])
        if ends.sampled_ms[n] > until_ms or start <= committed or commits.position(int(ends.sampled_ms[n])) is None:
            continue
        first = first or int(ends.sampled_ms[n])
        reached[start] = committed
    lost, counted = 0, 0
    for start, committed in sorted(reached.items()):
        lost += max(0, start - max(committed, counted))
        counted = start
    return first, lost
