"""R24: the group changes between the classic and the consumer protocol."""

from __future__ import annotations

from collections.abc import Iterator

from kohort.pipeline.history.conversions import CLASSIC, CONSUMER, Migration, migrations
from kohort.pipeline.history.group_analysis import GroupAnalysis
from kohort.pipeline.rules.finding import CERTAIN, INFO, WARNING, Finding, busiest, listed, seconds, several, times

ID = "R24"
FLAPPING_A_DAY = 3


def find(analysis: GroupAnalysis) -> Iterator[Finding]:
    group_migrations = migrations(
        analysis.generations, analysis.rebalances, analysis.timeline.conversions, analysis.group.until_ms
    )
    moments = [migration.converted_ms for migration in group_migrations]
    if not moments:
        return
    flapping = busiest(moments, 86_400_000) >= FLAPPING_A_DAY
    directions = {migration.to for migration in group_migrations}
    title = "Migration between the group protocols"
    title += ", back and forth" if flapping else (", there and back" if directions == {CLASSIC, CONSUMER} else "")
    yield Finding(
        ID,
        title,
        WARNING if flapping else INFO,
        CERTAIN,
        f"the group was converted between the classic and the consumer protocol {times(len(moments))}"
        + "".join(f"; {_described(migration)}" for migration in group_migrations[-2:]),
        _advice(group_migrations, flapping),
        min(migration.start_ms for migration in group_migrations),
        max(migration.end_ms for migration in group_migrations),
        [],
        {
            "conversions": len(moments),
            "moments_ms": moments,
            "to": [migration.to for migration in group_migrations],
            "took_ms": [migration.end_ms - migration.start_ms for migration in group_migrations],
            "unavailable_partition_s_hi": [
                None if (s := migration.partition_s) is None else round(s, 3) for migration in group_migrations
            ],
            "delayed_records": [migration.delayed_records for migration in group_migrations],
            "classic_members": list(group_migrations[-1].left),
            "rebalances": sorted({r.number for migration in group_migrations for r in migration.rebalances}),
        },
    )


def _described(migration: Migration) -> str:
    cost = several(len(migration.rebalances), "rebalance")
    if migration.partition_s is not None:
        cost += f", {migration.partition_s:.1f} partition-seconds without a consumer"
    took = seconds(migration.end_ms - migration.start_ms)
    if migration.left:
        return f"{listed(migration.left)} still used the classic protocol {took} after that ({cost} so far)"
    return f"the migration to the {migration.to} protocol took {took} and caused {cost}"


def _advice(group_migrations: list[Migration], flapping: bool) -> str:
    if flapping or group_migrations[-1].left:
        return (
            "Finish the rollout and set group.protocol everywhere: the group converts back when its last member of the "
            "consumer protocol leaves."
        )
    return "Ignore this if it happens once, in a live migration by rolling restart."
