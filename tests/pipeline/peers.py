"""The same work in other tools, on the same files, for comparison in `make bench-pipeline`.

Each function returns a result that the bench compares with the pipeline's, so that all do the same work.
"""

from __future__ import annotations

from collections import defaultdict
from itertools import pairwise
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from kohort.pipeline.records.segment_batches import read_segment
from kohort.protocol.records.record_reader import decode

CORES = 2

_COLUMNS = ("group_id", "topic", "part", "committed_offset", "commit_ts_ms")


def _plain_rows(pairs: Any, target: Path) -> int:
    columns: dict[str, list[Any]] = {name: [] for name in _COLUMNS}
    for key, value in pairs:
        values = decode(key, value)
        if values.type != 1 or values.value is None:
            continue
        columns["group_id"].append(values.key["group"])
        columns["topic"].append(values.key["topic"])
        columns["part"].append(values.key["partition"])
        columns["committed_offset"].append(values.value["offset"])
        columns["commit_ts_ms"].append(values.value["commitTimestamp"])
    pq.write_table(pa.table(columns), target, compression="zstd")
    return sum(columns["committed_offset"])


def plain_segments(paths: list[Path], target: Path) -> int:
    """Decode segment files to Parquet in plain Python on one core; only batches are split by the pipeline."""

    def pairs() -> Any:
        for path in paths:
            for run in read_segment(path.read_bytes()):
                for n in range(len(run.offset)):
                    yield run.spans.key(n), run.spans.value(n)

    return _plain_rows(pairs(), target)


_DUCKDB_DECODE = """
copy (
  with raw as (select hex(key) k, hex(value) v from read_parquet('{source}')
               where hex(key[:2]) = '0001' and value is not null),
  sized as (select *, ('0x' || k[5:8])::bigint g, 2 * (('0x' || v[29:30])::bigint - 1) m from raw),
  named as (select *, ('0x' || k[9 + 2 * g : 12 + 2 * g])::bigint t from sized)
  select decode(unhex(k[9 : 8 + 2 * g])) group_id, decode(unhex(k[13 + 2 * g : 12 + 2 * g + 2 * t])) topic,
         ('0x' || k[13 + 2 * g + 2 * t : 20 + 2 * g + 2 * t])::bigint part,
         ('0x' || v[5:20])::bigint committed_offset, ('0x' || v[31 + m : 46 + m])::bigint commit_ts_ms
  from named
) to '{target}' (format parquet, compression zstd)
"""


def duckdb_decode(records: Path, target: Path) -> int:
    """Decode records in Parquet to Parquet in DuckDB, for values of version 4 with short metadata only."""
    with _duckdb() as database:
        database.execute(_DUCKDB_DECODE.format(source=records / "*.parquet", target=target))
        return _total(database, target)


def _duckdb() -> duckdb.DuckDBPyConnection:
    return duckdb.connect(config={"threads": CORES})


def _total(database: duckdb.DuckDBPyConnection, target: Path) -> int:
    row = database.execute(f"select sum(committed_offset)::bigint from read_parquet('{target}')").fetchone()
    assert row is not None
    return int(row[0])


# --- longest gap between two commits of a partition: (partitions, sum of their longest gaps)


def plain_gaps(silver: Path) -> tuple[int, int]:
    table = pq.read_table(silver, columns=["group_id", "topic", "part", "offset", "ts_ms"])
    times: dict[tuple[str, str, int], list[tuple[int, int]]] = defaultdict(list)
    for group, topic, part, offset, time in zip(*(column.to_pylist() for column in table.columns), strict=True):
        times[group, topic, part].append((offset, time))
    longest = []
    for of_place in times.values():
        of_place.sort()
        longest.append(max((b[1] - a[1] for a, b in pairwise(of_place)), default=0))
    return len(longest), sum(longest)


def duckdb_gaps(silver: Path) -> tuple[int, int]:
    with _duckdb() as database:
        row = database.execute(
            "with gaps as (select group_id, topic, part, "
            'ts_ms - lag(ts_ms) over (partition by group_id, topic, part order by "offset") gap '
            f"from read_parquet('{silver}/**/*.parquet')), "
            "longest as (select max(gap) gap from gaps group by group_id, topic, part) "
            "select count(*), sum(gap)::bigint from longest"
        ).fetchone()
    assert row is not None
    return int(row[0]), int(row[1])


def polars_gaps(silver: Path) -> tuple[int, int]:
    place = ["group_id", "topic", "part"]
    frame = pl.scan_parquet(silver / "**/*.parquet", hive_partitioning=False).select(*place, "offset", "ts_ms")
    gaps = frame.sort(*place, "offset").group_by(place).agg(gap=pl.col("ts_ms").diff().max())
    row = gaps.select(pl.len().alias("n"), pl.col("gap").sum()).collect().row(0)
    return int(row[0]), int(row[1])


# --- partitions whose owner changed from one generation to the next: (compared, moved)


def plain_movement(silver: Path) -> tuple[int, int]:
    table = pq.read_table(silver, columns=["group_id", "offset", "member_id", "topic", "parts", "role"])
    owners: dict[str, dict[int, dict[tuple[str, int], str]]] = defaultdict(lambda: defaultdict(dict))
    for row in table.to_pylist():
        if row["role"] == "assigned":
            for part in row["parts"]:
                owners[row["group_id"]][row["offset"]][row["topic"], part] = row["member_id"]
    common = moved = 0
    for generations in owners.values():
        timeline = [generations[offset] for offset in sorted(generations)]
        for before, after in pairwise(timeline):
            for place in before.keys() & after.keys():
                common += 1
                moved += before[place] != after[place]
    return common, moved


def duckdb_movement(silver: Path) -> tuple[int, int]:
    with _duckdb() as database:
        row = database.execute(
            'with owners as (select group_id, "offset", member_id, topic, unnest(parts) part '
            f"from read_parquet('{silver}/**/*.parquet') where role = 'assigned'), "
            'numbered as (select *, dense_rank() over (partition by group_id order by "offset") generation from owners) '
            "select count(*), count(*) filter (a.member_id <> b.member_id) from numbered a join numbered b "
            "on a.group_id = b.group_id and a.topic = b.topic and a.part = b.part and b.generation = a.generation + 1"
        ).fetchone()
    assert row is not None
    return int(row[0]), int(row[1])


def polars_movement(silver: Path) -> tuple[int, int]:
    frame = pl.scan_parquet(silver / "**/*.parquet", hive_partitioning=False).filter(pl.col("role") == "assigned")
    frame = frame.select("group_id", "offset", "member_id", "topic", part="parts").explode("part")
    frame = frame.with_columns(generation=pl.col("offset").rank("dense").over("group_id").cast(pl.Int64))
    after = frame.with_columns(generation=pl.col("generation") - 1)
    both = frame.join(after, on=["group_id", "topic", "part", "generation"])
    row = both.select(pl.len(), moved=(pl.col("member_id") != pl.col("member_id_right")).sum()).collect().row(0)
    return int(row[0]), int(row[1])
