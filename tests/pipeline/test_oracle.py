"""A second implementation of the set-based figures, in SQL over the same silver files, run by DuckDB."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest

from kohort.pipeline.gold.group_tables import analyse_group, as_tables
from kohort.pipeline.history.inputs import GroupInput

COMMITS = """
    select group_id, topic, part, "offset", ts_ms, committed_offset from (
        select *, row_number() over (partition by "partition", "offset" order by rank) as best
        from read_parquet('{silver}/offset_commits/*/*.parquet')
    ) where best = 1 and not is_tombstone and coalesce(txn, 'committed') = 'committed'
"""


@pytest.fixture(scope="module")
def base(recorded_groups: dict[str, GroupInput], recorded_silver: Path) -> Any:
    connection = duckdb.connect()
    connection.execute(f"create table commits as {COMMITS.format(silver=recorded_silver)}")
    gold: dict[str, list[pa.Table]] = {}
    for group in recorded_groups.values():
        for table, rows in as_tables(group, analyse_group(group)).items():
            gold.setdefault(table, []).append(rows)
    for table, parts in gold.items():
        whole = pa.concat_tables(parts)
        connection.register(f"gold_{table}", whole)
    return connection


def test_commit_gaps(base: Any) -> None:
    # gap(p, r) = first commit at or after the end - last commit at or before the end of the barrier
    differing = base.execute("""
        select m.group_id, m.rebalance_no, m.topic, m.part, m.commit_gap_ms, s.gap
        from gold_partition_moves m join (
            select m.group_id, m.rebalance_no, m.topic, m.part,
                   min(c.ts_ms) filter (c.ts_ms >= r.stable_ms) - max(c.ts_ms) filter (c.ts_ms <= r.barrier_ms) as gap
            from gold_partition_moves m
            join gold_rebalances r using (group_id, rebalance_no)
            join commits c on (c.group_id, c.topic, c.part) = (m.group_id, m.topic, m.part)
            where r.outcome <> 'open'
            group by all
        ) s using (group_id, rebalance_no, topic, part)
        where m.commit_gap_ms is distinct from s.gap
    """).fetchall()
    assert differing == []
    assert base.execute("select count(*) from gold_partition_moves where commit_gap_ms is not null").fetchone()[0] > 500


def test_minutes(base: Any) -> None:
    differing = base.execute("""
        with steps as (
            select *, committed_offset - lag(committed_offset) over w as delta, ts_ms - lag(ts_ms) over w as gap
            from commits window w as (partition by group_id, topic, part order by "offset")
        ), minutes as (
            select group_id, topic, part, ts_ms // 60000 * 60000 as minute, count(*) as commits,
                   sum(greatest(coalesce(delta, 0), 0)) as offset_delta, max(coalesce(gap, 0)) as max_gap_ms,
                   count(*) filter (delta < 0) as rewinds
            from steps group by all
        )
        (select group_id, topic, part, minute, commits, offset_delta, max_gap_ms, rewinds from minutes
         except select group_id, topic, part, minute, commits, offset_delta, max_gap_ms, rewinds from gold_commit_minutes)
        union all
        (select group_id, topic, part, minute, commits, offset_delta, max_gap_ms, rewinds from gold_commit_minutes
         except select group_id, topic, part, minute, commits, offset_delta, max_gap_ms, rewinds from minutes)
    """).fetchall()
    assert differing == []


def test_skew(base: Any, recorded_silver: Path) -> None:
    differing = base.execute(f"""
        with assigned as (
            select p.group_id, p."offset", r.generation, m.member_id, coalesce(sum(len(p2.parts)), 0) as parts
            from (select distinct group_id, "offset" from read_parquet('{recorded_silver}/member_partitions/*/*.parquet')
                  where role = 'assigned') p
            join (select group_id, "offset", any_value(generation) as generation
                  from read_parquet('{recorded_silver}/group_records/*/*.parquet') where record_type = 2 group by all) r
                using (group_id, "offset")
            join (select distinct group_id, "offset", member_id
                  from read_parquet('{recorded_silver}/group_members/*/*.parquet')) m using (group_id, "offset")
            left join (select * from read_parquet('{recorded_silver}/member_partitions/*/*.parquet') q
                       where role = 'assigned' qualify rank = min(rank) over (partition by "partition", "offset")) p2
                on (p2.group_id, p2."offset", p2.member_id) = (p.group_id, p."offset", m.member_id)
            group by all
        ), sizes as (
            select group_id, generation, max("offset") as last, max(parts) as most, min(parts) as least
            from assigned group by group_id, generation, "offset"
        )
        select s.group_id, s.generation, s.most, g.max_parts, s.least, g.min_parts
        from sizes s join gold_assignment_skew g using (group_id, generation)
        where (s.most, s.least) <> (g.max_parts, g.min_parts)
          and s.group_id not in (select group_id from gold_rebalances where kind = 'conversion')
    """).fetchall()
    assert differing == []
