"""R19: one member has far more to do than the others: by partitions, by records, or by lag that piles up."""

from __future__ import annotations

from collections.abc import Iterator

from kohort.pipeline.history.group_analysis import GroupAnalysis
from kohort.pipeline.history.inputs import Generation
from kohort.pipeline.history.lag import lag_at_samples
from kohort.pipeline.history.skew import Skew, skew_of
from kohort.pipeline.history.stalls import lags_by_partition
from kohort.pipeline.rules.finding import CERTAIN, LIKELY, WARNING, Finding

ID = "R19"
SKEW, WEIGHTED_SKEW = 2.0, 3.0
LASTED_S = 30
MUCH_LAG, TIMES_THE_OTHERS = 100, 5
LAG_LASTED_MS = 30_000


def find(analysis: GroupAnalysis) -> Iterator[Finding]:
    yield from _hot_partition(analysis)
    for generation in analysis.generations:
        skew = skew_of(generation, analysis.commits, analysis.group.until_ms) if generation.size > 1 else None
        if skew is None or skew.lasted_s < LASTED_S or len(generation.owners) < generation.size:
            continue
        equal = len({member.topics for member in generation.members.values()}) == 1
        by_count = equal and (skew.skew or 0) >= SKEW and skew.max_parts - skew.min_parts > 1
        by_weight = (skew.weighted or 0) >= WEIGHTED_SKEW
        if by_count or by_weight:
            yield _skewed(generation, skew, by_count)
            return


def _skewed(generation: Generation, skew: Skew, by_count: bool) -> Finding:
    if by_count:
        text = (
            f"members have between {skew.min_parts} and {skew.max_parts} partitions in "
            f"{'epoch' if generation.kind == 'consumer' else 'generation'} {generation.number}"
        )
        better = "the assignor uniform" if generation.kind == "consumer" else "cooperative-sticky or uniform"
        advice = f"range gives the first partitions of every topic to the same member. Use {better}."
    else:
        text = f"{skew.hot_member} advances {skew.weighted or 0:.1f} times as many records as the average member"
        advice = "Look for a hot key or a hot partition. More partitions or another key spread the load."
    return Finding(
        ID, "Skewed assignment", WARNING, LIKELY, text, advice, generation.stable_ms,
        generation.end_ms or generation.stable_ms + round(1000 * skew.lasted_s),
        [skew.hot_member] if skew.hot_member and not by_count else [],
        {
            "generation": generation.number, "min_parts": skew.min_parts, "max_parts": skew.max_parts,
            "skew": skew.skew, "weighted_skew": skew.weighted, "hot_member": skew.hot_member,
        },
    )  # fmt: skip


def _hot_partition(analysis: GroupAnalysis) -> Iterator[Finding]:
    tops = lags_by_partition(analysis.group, analysis.ownership)
    stuck = {stall.topic_partition for stall in analysis.stalls if stall.kind == "partition_stuck"}
    topic_partition = max(tops, key=lambda p: tops[p][0], default=None)
    if topic_partition is None or topic_partition in stuck or tops[topic_partition][0] < MUCH_LAG:
        return
    lag, at_ms = tops[topic_partition]
    owner = analysis.ownership.owner(topic_partition, at_ms)
    generation = analysis.ownership.generation_at(at_ms)
    if owner is None or generation is None or len(generation.members) < 2:
        return
    rest = [tops[p][0] for p, who in generation.owners.items() if who != owner and p in tops]
    if not rest or lag < TIMES_THE_OTHERS * max(1, *rest):
        return
    ends = analysis.group.ends[topic_partition]
    high = ends.sampled_ms[lag_at_samples(ends, analysis.group.commits[topic_partition]) >= MUCH_LAG]
    if not len(high) or high[-1] - high[0] < LAG_LASTED_MS:
        return
    name = generation.members[owner].name
    beside = [tops[p][0] for p, who in generation.owners.items() if who == owner and p in tops and p != topic_partition]
    yield Finding(
        ID,
        "Lag piles up on one partition",
        WARNING,
        CERTAIN,
        f"up to {lag} records wait on partition {topic_partition[1]} of {topic_partition[0]}, owner {name}; partitions of other members never "
        f"had more than {max(rest)}" + (f", others of the same owner up to {max(beside)}" if beside else ""),
        "Look for a hot key (most records in one partition), and at what the owner does with each record. A rebalance "
        "doesn't help; more partitions or another key may.",
        int(high[0]),
        int(high[-1]),
        [name],
        {
            "topic": topic_partition[0],
            "part": topic_partition[1],
            "lag": lag,
            "others_lag": max(rest),
            "same_owner_lag": max(beside, default=None),
            "lasted_ms": int(high[-1] - high[0]),
        },
    )
