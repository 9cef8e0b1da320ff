"""R56: a streams group has members but no tasks, because topics of its topology are missing or don't fit (NotReady)."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from kohort.pipeline.history.group_analysis import GroupAnalysis
from kohort.pipeline.history.streams_history import StreamsHistory
from kohort.pipeline.rules.finding import CERTAIN, CRITICAL, Finding, listed, seconds

ID = "R56"
LONG_MS = 60_000  # missing internal topics are usually created within one or two heartbeats


def find(analysis: GroupAnalysis) -> Iterator[Finding]:
    if (streams := analysis.streams) is None:
        return
    spans = pairwise([*streams.ready, (streams.until_ms, True)])
    stood = [_with_members(streams, start, end) for (start, is_ready), (end, _) in spans if not is_ready]
    lasted_ms, since_ms, until_ms, names = max(
        (period for period in stood if period[2] >= streams.since_ms), default=(0, 0, 0, [])
    )
    if lasted_ms >= LONG_MS:
        yield _finding(streams, lasted_ms, since_ms, until_ms, names)


def _with_members(streams: StreamsHistory, start_ms: int, end_ms: int) -> tuple[int, int, int, list[str]]:
    """Return how long there were members in a period, the first and the last time, and their processes."""
    present = sorted(
        (max(stay.start_ms, start_ms), min(stay.end_ms or end_ms, end_ms), stay.name)
        for stay in streams.threads_between(start_ms, end_ms)
    )
    lasted_ms, covered_ms = 0, start_ms
    for since_ms, until_ms, _ in present:
        lasted_ms += max(0, until_ms - max(since_ms, covered_ms))
        covered_ms = max(covered_ms, until_ms)
    return lasted_ms, present[0][0] if present else start_ms, covered_ms, sorted({name for _, _, name in present})


def _finding(streams: StreamsHistory, lasted_ms: int, since_ms: int, until_ms: int, names: list[str]) -> Finding:
    topology = streams.topology_at(since_ms)
    sources = (
        []
        if topology is None
        else sorted({name for subtopology in topology.subtopologies.values() for name in subtopology.reads})
    )
    return Finding(
        ID,
        "The topology is not ready, and no member has tasks",
        CRITICAL,
        CERTAIN,
        f"for {seconds(lasted_ms)} the group had members ({listed(names)}) and no tasks: it was NotReady, because topics of its "
        "topology are missing or have the wrong number of partitions",
        "Find these topics in the clients' logs (MISSING_SOURCE_TOPICS, INCORRECTLY_PARTITIONED_TOPICS, "
        "MISSING_INTERNAL_TOPICS with the reason why they could not be created) and with kafka-streams-groups --describe --state. "
        + (f"It reads {listed(sources)}. " if sources else "")
        + "Create source topics, give joined topics the same number of partitions, delete internal topics with "
        "another number, and let the application create topics (CREATE on the cluster or on its internal topics).",
        since_ms,
        until_ms,
        names,
        {"lasted_ms": lasted_ms, "topics": sources, "open": until_ms == streams.until_ms},
    )
