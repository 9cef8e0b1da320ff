"""A member that gets through less than the others: records pile up on all that it owns."""

from __future__ import annotations

from kohort.pipeline.history.group_analysis import analyse
from kohort.pipeline.history.inputs import PartitionCommits
from kohort.pipeline.rules.diagnose import diagnose
from tests.pipeline.stories import Story

PARTITIONS = 24


def test_equal_lag_names_first_partition() -> None:
    # the order of a set would differ between processes
    group = Story(topic_parts=PARTITIONS).generation(1, 0.5, {"c-1/a": {}, "c-2/a": {}}).group_input()
    ends, quick = group.ends["t", 0], group.commits["t", 0]
    slow = PartitionCommits(quick.ts_ms, quick.committed // 2)
    for number in range(PARTITIONS):
        group.ends["t", number], group.commits["t", number] = ends, slow if number % 2 else quick
    (finding,) = [result for result in diagnose(analyse(group)) if result.rule == "R45"]
    assert finding.clients == ["c-2"]
    assert (finding.evidence["topic"], finding.evidence["part"]) == ("t", 1)
