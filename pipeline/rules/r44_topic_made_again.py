"""R44: a topic was deleted and made again under its group.

A log whose end goes back shows it, or all offsets of a topic that are removed while the group goes on and begins at
lower ones. What follows from it (positions that go back, offsets that are gone) is nobody's fault in the group.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from kohort.pipeline.history.group_analysis import GroupAnalysis
from kohort.pipeline.history.inputs import PartitionCommits, TopicPartition
from kohort.pipeline.rules.finding import CERTAIN, CRITICAL, LIKELY, WARNING, Finding, moment, several

ID = "R44"
TOGETHER_MS, SOON_MS = 5_000, 5_000
SHARE_LEFT = 0.5
"""A log that has less than this left is another one; a replica that was behind its leader loses a few records."""


def find(analysis: GroupAnalysis) -> Iterator[Finding]:
    for topic, (at_ms, sure) in sorted(made_again(analysis).items()):
        places = [place for place in analysis.commits.partitions if place[0] == topic]
        skipped = sum(_skipped(analysis, place, at_ms) for place in places)
        text = f"{topic} was deleted and made again at about {moment(at_ms)} UTC, under the group that reads it "
        text += f"({several(len(places), 'partition')}): offsets begin anew, and what had not been read of the old topic is gone"
        if skipped:
            text += f"; members kept their old positions, so that {several(skipped, 'record')} of the new topic were not read"
        text += "" if sure else "; samples of log ends would show it for certain"
        yield Finding(
            ID,
            "A topic was deleted and made again",
            CRITICAL if skipped and sure else WARNING,
            CERTAIN if sure else LIKELY,
            text,
            "Stop the group before a topic is made again, and start it afterwards: clients that live go on from old positions. "
            "If nobody meant it, find out who deleted the topic (kafka-acls: who may Delete).",
            at_ms,
            at_ms,
            [],
            {"topic": topic, "partitions": len(places), "records": skipped},
            cause_confidence=LIKELY if skipped else "",
        )


def _skipped(analysis: GroupAnalysis, place: TopicPartition, at_ms: int) -> int:
    """Records of the new topic before the position at which the group went on, if that is where it had been."""
    commits = analysis.commits.partitions[place].commits
    before, after = commits.committed[commits.ts_ms <= at_ms], commits.committed[commits.ts_ms > at_ms + SOON_MS]
    return int(before[-1]) if len(before) and len(after) and after[0] >= before[-1] else 0


def made_again(analysis: GroupAnalysis) -> dict[str, tuple[int, bool]]:
    """When, and whether its log shows that, by topic."""
    found = {topic: (at_ms, False) for topic, at_ms in _by_offsets(analysis)}
    for (topic, _), ends in analysis.group.ends.items():
        back = np.flatnonzero(ends.log_end[1:] < SHARE_LEFT * ends.log_end[:-1])
        if len(back):
            at_ms = int(ends.sampled_ms[back[0] + 1])
            earlier, sure = found.get(topic, (at_ms, False))
            found[topic] = (min(at_ms, earlier) if sure or abs(at_ms - earlier) < 60_000 else at_ms, True)
    return found


def _by_offsets(analysis: GroupAnalysis) -> Iterator[tuple[str, int]]:
    """Topics whose offsets were all removed at once, while the group lived, and which then began at lower ones."""
    by_topic: dict[str, list[PartitionCommits]] = {}
    for (topic, _), commits in analysis.group.commits.items():
        if len(commits.ts_ms):
            by_topic.setdefault(topic, []).append(commits)
    for topic, of_topic in by_topic.items():
        gone = [int(commits.gone_ms[0]) for commits in of_topic if len(commits.gone_ms)]
        if not gone or len(gone) < len(of_topic) or max(gone) - min(gone) > TOGETHER_MS:
            continue
        alive = analysis.ownership.generation_at(min(gone))
        if alive is None or not alive.size:
            continue
        lower = 0
        for commits in of_topic:
            before, after = commits.committed[commits.ts_ms <= gone[0]], commits.committed[commits.ts_ms > max(gone)]
            lower += bool(len(before) and len(after) and after[0] < before[-1])
        if lower:
            yield topic, min(gone)
