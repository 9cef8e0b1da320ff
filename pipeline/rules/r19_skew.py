"""R19: one member has far more to do than the others: by partitions, by records, or by lag that piles up."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kohort.pipeline.gold.rows import skew_of
from kohort.pipeline.history.inputs import Generation
from kohort.pipeline.history.lag import lag_at_samples
from kohort.pipeline.history.picture import Picture
from kohort.pipeline.history.stalls import lags_by_partition
from kohort.pipeline.rules.finding import CERTAIN, LIKELY, WARNING, Finding

ID = "R19"
SKEW, WEIGHTED_SKEW = 2.0, 3.0
LASTED_S = 30
MUCH_LAG, TIMES_THE_OTHERS = 100, 5
LAG_LASTED_MS = 30_000


def find(picture: Picture) -> Iterator[Finding]:
    yield from _hot_partition(picture)
    for generation in picture.generations:
        row = skew_of(picture, generation) if generation.size > 1 else None
        if row is None or row["lasted_s"] < LASTED_S or len(generation.owners) < generation.size:
            continue
        equal = len({member.topics for member in generation.members.values()}) == 1
        by_count = equal and (row["skew"] or 0) >= SKEW and row["max_parts"] - row["min_parts"] > 1
        by_weight = (row["weighted_skew"] or 0) >= WEIGHTED_SKEW
        if by_count or by_weight:
            yield _skewed(generation, row, by_count)
            return


def _skewed(generation: Generation, row: dict[str, Any], by_count: bool) -> Finding:
    if by_count:
        text = (
            f"between {row['min_parts']} and {row['max_parts']} partitions a member in generation {generation.number}"
        )
        advice = (
            "range over many topics piles the first partitions of each on one member: cooperative-sticky or uniform."
        )
    else:
        text = f"{row['hot_member']} advances {row['weighted_skew']:.1f} times as many records as the average member"
        advice = "Look for a hot key or a hot partition: more partitions or another key spread it."
    return Finding(
        ID, "Skewed assignment", WARNING, LIKELY, text, advice, generation.stable_ms,
        generation.end_ms or generation.stable_ms + round(1000 * row["lasted_s"]),
        [row["hot_member"]] if row["hot_member"] and not by_count else [],
        {key: row[key] for key in ("generation", "min_parts", "max_parts", "skew", "weighted_skew", "hot_member")},
    )  # fmt: skip


def _hot_partition(picture: Picture) -> Iterator[Finding]:
    tops = lags_by_partition(picture.group, picture.ownership)
    stuck = {stall.place for stall in picture.stalls if stall.kind == "partition_stuck"}
    place = max(tops, key=lambda p: tops[p][0], default=None)
    if place is None or place in stuck or tops[place][0] < MUCH_LAG:
        return
    lag, at_ms = tops[place]
    owner = picture.ownership.owner(place, at_ms)
    generation = picture.ownership.generation_at(at_ms)
    if owner is None or generation is None or len(generation.members) < 2:
        return
    rest = [tops[p][0] for p, who in generation.owners.items() if who != owner and p in tops]
    if not rest or lag < TIMES_THE_OTHERS * max(1, *rest):
        return
    ends = picture.group.ends[place]
    high = ends.sampled_ms[lag_at_samples(ends, picture.group.commits[place]) >= MUCH_LAG]
    if not len(high) or high[-1] - high[0] < LAG_LASTED_MS:
        return
    name = generation.members[owner].name
    beside = [tops[p][0] for p, who in generation.owners.items() if who == owner and p in tops and p != place]
    yield Finding(
        ID,
        "Lag piles up on one partition",
        WARNING,
        CERTAIN,
        f"up to {lag} records wait on partition {place[1]} of {place[0]}, owner {name}; partitions of other members never "
        f"had more than {max(rest)}" + (f", others of the same owner up to {max(beside)}" if beside else ""),
        "Look for a hot key (most records in one partition) and for what its owner does with each record; a rebalance "
        "doesn't help, more partitions or another key may.",
        int(high[0]),
        int(high[-1]),
        [name],
        {
            "topic": place[0],
            "part": place[1],
            "lag": lag,
            "others_lag": max(rest),
            "same_owner_lag": max(beside, default=None),
            "lasted_ms": int(high[-1] - high[0]),
        },
    )
