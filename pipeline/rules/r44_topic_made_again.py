"""R44: a topic was deleted and created again while the group used it.

It shows in a log whose end decreases, or in a removal of all offsets of a topic while the group continues at lower
ones. The consequences (positions that go back, offsets that are gone) are not the fault of any member.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from kohort.pipeline.history.group_analysis import GroupAnalysis, once
from kohort.pipeline.history.inputs import PartitionCommits, TopicPartition
from kohort.pipeline.rules.finding import CERTAIN, CRITICAL, LIKELY, WARNING, Finding, moment, several

ID = "R44"
TOGETHER_MS, SOON_MS = 5_000, 5_000
SHARE_LEFT = 0.5  # a log with less than this left is a new one; a replica behind its leader loses only a few records


def find(analysis: GroupAnalysis) -> Iterator[Finding]:
    for topic, (at_ms, sure) in sorted(made_again(analysis).items()):
        places = [place for place in analysis.commits.partitions if place[0] == topic]
        skipped = sum(_skipped(analysis, place, at_ms) for place in places)
        text = f"{topic} was deleted and created again at about {moment(at_ms)} UTC, while the group used it "
        text += f"({several(len(places), 'partition')}): its offsets start again, and unread records of the old topic are lost"
        if skipped:
            text += (
                f"; members kept their old positions, so {several(skipped, 'record')} of the new topic were not read"
            )
        text += "" if sure else "; samples of log end offsets would prove it"
        yield Finding(
            ID,
            "A topic was deleted and created again",
            CRITICAL if skipped and sure else WARNING,
            CERTAIN if sure else LIKELY,
            text,
            "Stop the group before a topic is created again, and start it afterwards: running clients continue at old positions. "
            "If it wasn't intended, find out who deleted the topic (kafka-acls: principals with Delete).",
            at_ms,
            at_ms,
            [],
            {"topic": topic, "partitions": len(places), "records": skipped},
            cause_confidence=LIKELY if skipped else "",
        )


def _skipped(analysis: GroupAnalysis, place: TopicPartition, at_ms: int) -> int:
    """Return the number of records of the new topic before the group's position, if that is its old position."""
    commits = analysis.commits.partitions[place].commits
    earlier, after = commits.committed[commits.ts_ms <= at_ms], commits.committed[commits.ts_ms > at_ms + SOON_MS]
    return int(earlier[-1]) if len(earlier) and len(after) and after[0] >= earlier[-1] else 0


@once
def made_again(analysis: GroupAnalysis) -> dict[str, tuple[int, bool]]:
    """Return by topic the time of its creation, and whether the log shows it."""
    times = {topic: (at_ms, False) for topic, at_ms in _by_offsets(analysis)}
    for (topic, _), ends in analysis.group.ends.items():
        if len(ends.log_end) < 2:
            continue  # a cluster is sampled once by an analysis, and may have tens of thousands of partitions
        back = np.flatnonzero(ends.log_end[1:] < SHARE_LEFT * ends.log_end[:-1])
        if len(back):
            at_ms = int(ends.sampled_ms[back[0] + 1])
            earlier, sure = times.get(topic, (at_ms, False))
            times[topic] = (min(at_ms, earlier) if sure or abs(at_ms - earlier) < 60_000 else at_ms, True)
    return times


def _by_offsets(analysis: GroupAnalysis) -> Iterator[tuple[str, int]]:
    """Yield topics whose offsets were all removed at once while the group was active, and which then began lower."""
    by_topic: dict[str, list[PartitionCommits]] = {}
    for (topic, _), commits in analysis.group.commits.items():
        if len(commits.ts_ms):
            by_topic.setdefault(topic, []).append(commits)
    for topic, of_topic in by_topic.items():
        removed_ms = [int(commits.gone_ms[0]) for commits in of_topic if len(commits.gone_ms)]
        if not removed_ms or len(removed_ms) < len(of_topic) or max(removed_ms) - min(removed_ms) > TOGETHER_MS:
            continue
        alive = analysis.ownership.generation_at(min(removed_ms))
        if alive is None or not alive.size:
            continue
        lower = 0
        for commits in of_topic:
            earlier, after = (
                commits.committed[commits.ts_ms <= removed_ms[0]],
                commits.committed[commits.ts_ms > max(removed_ms)],
            )
            lower += bool(len(earlier) and len(after) and after[0] < earlier[-1])
        if lower:
            yield topic, min(removed_ms)
