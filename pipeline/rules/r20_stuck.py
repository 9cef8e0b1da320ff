"""R20: a partition or a member makes no progress, without any rebalance."""

from __future__ import annotations

from collections.abc import Iterator

from kohort.pipeline.history.group_analysis import GroupAnalysis
from kohort.pipeline.history.stalls import Stall
from kohort.pipeline.rules.finding import CERTAIN, CRITICAL, LIKELY, POSSIBLE, WARNING, Finding, seconds

ID = "R20"
LONG_MS = 300_000
MEMBER_SILENT_MS = 30_000


def find(analysis: GroupAnalysis) -> Iterator[Finding]:
    for stall in analysis.stalls:
        if stall.kind == "partition_stuck" and stall.topic_partition is not None:
            yield _stuck(stall)
    for stall in analysis.stalls:
        silent = stall.kind == "member_silent" and stall.during_rebalance is None and stall.lag
        if silent and stall.length_ms >= MEMBER_SILENT_MS and not _also_stuck(analysis, stall):
            yield _silent(stall)


def _also_stuck(analysis: GroupAnalysis, silent: Stall) -> bool:
    return any(
        s.kind == "partition_stuck" and s.owner == silent.owner and s.start_ms < silent.end_ms for s in analysis.stalls
    )


def _stuck(stall: Stall) -> Finding:
    assert stall.topic_partition is not None
    topic, part = stall.topic_partition
    return Finding(
        ID,
        "A partition makes no progress",
        CRITICAL if stall.length_ms >= LONG_MS and stall.lag is not None else WARNING,
        CERTAIN if stall.lag is not None else POSSIBLE,
        f"partition {part} of {topic} made no progress for {seconds(stall.length_ms)}"
        + (f" while up to {stall.lag} records waited" if stall.lag is not None else "")
        + f"; other partitions of its owner {stall.owner} advanced"
        + (
            ""
            if stall.lag is not None
            else "; it is unknown whether records waited, without samples of log end offsets"
        ),
        "Read the records from the committed offset on (kafka-console-consumer --partition … --offset …; members that commit batches "
        "may have come further), and take a thread dump of "
        f"{stall.owner}. Possible causes: a record that can't be processed (the offset stays with the next owner, "
        "too), another partition that takes all the time of its owner (it has the lag), a slow owner (all its "
        "partitions lag), a slow service that only these records need.",
        stall.start_ms,
        stall.end_ms,
        [stall.owner] if stall.owner else [],
        {"topic": topic, "part": part, "stood_ms": stall.length_ms, "lag": stall.lag, "burrow_status": stall.burrow},
        cause_confidence=POSSIBLE,
    )


def _silent(stall: Stall) -> Finding:
    back = "" if stall.open else "; then it continued"
    completed = "completed " if stall.open else ""  # the offsets topic shows no other
    return Finding(
        ID,
        "A member stopped committing" if stall.open else "A member paused",
        CRITICAL if stall.length_ms >= LONG_MS else WARNING,
        LIKELY,
        f"no partition of {stall.owner} had a commit for {seconds(stall.length_ms)} although records waited (up to "
        f"{stall.lag}); the other members continued, without a {completed}rebalance{back}",
        f"Check what {stall.owner} did at that time: take a thread dump if it lasts, otherwise see its log and its host's CPU. It "
        "still sent heartbeats, so its poll thread was blocked, or it waited for a resource that the others don't need.",
        stall.start_ms,
        stall.end_ms,
        [stall.owner] if stall.owner else [],
        {"silent_ms": stall.length_ms, "lag": stall.lag, "open": stall.open},
        cause_confidence=POSSIBLE,
    )
