"""R33: two consumers commit the same partition, each its own position: the committed offset jumps between them."""

from __future__ import annotations

from collections.abc import Iterator

from kohort.pipeline.history.group_analysis import GroupAnalysis
from kohort.pipeline.history.inputs import TopicPartition
from kohort.pipeline.rules.finding import CERTAIN, CRITICAL, LIKELY, Finding, listed, several, times

ID = "R33"
JUMPS = 4  # minimum number of jumps back and forth; after a reset the position moves forward step by step
SOON = 5  # commits until the position of the other consumer is back


def find(analysis: GroupAnalysis) -> Iterator[Finding]:
    by_partition = jumping(analysis)
    if not by_partition:
        return
    moments = sorted(ms for of_partition in by_partition.values() for ms in of_partition)
    topics = listed(sorted({topic for topic, _ in by_partition}))
    owners = [name for place, at in by_partition.items() if (name := analysis.ownership.owner_name(place, at[0]))]
    committers = "two consumers without membership (assign) overwrite each other's commits"
    if owners:
        committers = f"besides {listed(owners)}, its owner, a consumer without membership (assign) commits"
    jumps = sum(map(len, by_partition.values()))
    yield Finding(
        ID,
        "Two consumers commit the same partition",
        CRITICAL,
        LIKELY if owners else CERTAIN,
        f"the committed offsets of {several(len(by_partition), 'partition')} of {topics} jumped back and forth {times(jumps)}: {committers}",
        "Give each application its own group id, or use membership (subscribe), so that each partition has one "
        "owner. Until then a restart continues at the position committed last: records are lost or processed twice.",
        moments[0],
        moments[-1],
        list(dict.fromkeys(owners)),
        {
            "times": jumps,
            "partitions": len(by_partition),
            "topics": sorted({topic for topic, _ in by_partition}),
            "while_empty": not owners,
        },
    )


def jumping(analysis: GroupAnalysis) -> dict[TopicPartition, list[int]]:
    """Return by partition the times at which the committed offset jumped back and soon returned."""
    by_partition = {}
    for place, partition in analysis.commits.partitions.items():
        if len(partition.rewinds) < JUMPS:
            continue
        committed, times_ms, deltas = partition.commits.committed, partition.commits.ts_ms, partition.deltas
        jumps = [
            int(times_ms[n + 1])
            for n in partition.rewinds
            if (committed[n + 2 : n + 2 + SOON] >= committed[n]).any()
            and int(deltas[n + 1 : n + 1 + SOON].max(initial=0)) >= -int(deltas[n]) / 2
        ]
        if len(jumps) >= JUMPS:
            by_partition[place] = jumps
    return by_partition
