"""R19: one member has far more work than the others: partitions, records, or growing lag."""

from __future__ import annotations

from collections.abc import Iterator

from kohort.pipeline.history.backlogs import Backlog, backlogs
from kohort.pipeline.history.group_analysis import GroupAnalysis
from kohort.pipeline.history.inputs import Generation
from kohort.pipeline.history.skew import Skew
from kohort.pipeline.rules.finding import CERTAIN, LIKELY, WARNING, Finding

ID = "R19"
SKEW, WEIGHTED_SKEW = 2.0, 3.0
LASTED_S = 30


def find(analysis: GroupAnalysis) -> Iterator[Finding]:
    stuck = {stall.topic_partition for stall in analysis.stalls if stall.kind == "partition_stuck"}
    growing = [backlog for backlog in backlogs(analysis) if backlog.hot is not None and backlog.hot not in stuck]
    for backlog in growing:
        yield _hot(backlog)
    for generation, skew in zip(analysis.generations, analysis.skews, strict=True):
        if skew is None or generation.size <= 1 or skew.lasted_s < LASTED_S or len(generation.owners) < generation.size:
            continue
        equal = len({member.topics for member in generation.members.values()}) == 1
        by_count = equal and (skew.skew or 0) >= SKEW and skew.max_parts - skew.min_parts > 1
        by_weight = (skew.weighted or 0) >= WEIGHTED_SKEW
        if by_count or (by_weight and not growing):
            yield _skewed(generation, skew, by_count)
            return


def _skewed(generation: Generation, skew: Skew, by_count: bool) -> Finding:
    if by_count:
        text = (
            f"members have between {skew.min_parts} and {skew.max_parts} partitions in "
            f"{'epoch' if generation.kind == 'consumer' else 'generation'} {generation.number}"
        )
        better = "the assignor uniform" if generation.kind == "consumer" else "cooperative-sticky or uniform"
        advice = f"Use {better}: range assigns the first partitions of every topic to the same member."
    else:
        text = f"{skew.hot_member} advances {skew.weighted or 0:.1f} times as many records as the average member"
        advice = "Check for a hot key or a hot partition. More partitions or another key distribute the load."
    return Finding(
        ID, "Skewed assignment", WARNING, LIKELY, text, advice, generation.stable_ms,
        generation.end_ms or generation.stable_ms + round(1000 * skew.lasted_s),
        [skew.hot_member] if skew.hot_member and not by_count else [],
        {
            "generation": generation.number, "min_parts": skew.min_parts, "max_parts": skew.max_parts,
            "skew": skew.skew, "weighted_skew": skew.weighted, "hot_member": skew.hot_member,
        },
    )  # fmt: skip


def _hot(backlog: Backlog) -> Finding:
    assert backlog.hot is not None
    topic, part = backlog.hot
    lag = backlog.places[backlog.hot]
    beside = max((of for place, of in backlog.places.items() if place != backlog.hot), default=None)
    text = f"up to {lag} records wait on partition {part} of {topic}, owner {backlog.client}: {backlog.hot_inflow:.1f} records a "
    text += f"second arrive there, {backlog.usual_inflow:.1f} in other partitions; partitions of other members never had more "
    text += f"than {backlog.others_lag}"
    if beside is not None:
        text += f"; it delays the other partitions of its owner (up to {beside})"
    return Finding(
        ID,
        "Lag grows in one partition",
        WARNING,
        CERTAIN,
        text,
        "Check for a hot key: most records are in one partition. Neither a rebalance nor more members help; use another key, "
        "or process the records of that partition in parallel.",
        backlog.start_ms,
        backlog.end_ms,
        [backlog.client],
        {
            "topic": topic,
            "part": part,
            "lag": lag,
            "others_lag": backlog.others_lag,
            "same_owner_lag": beside,
            "lasted_ms": backlog.end_ms - backlog.start_ms,
        },
        cause_confidence=LIKELY,
    )
