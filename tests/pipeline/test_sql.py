"""The views that open an analysis' tables: the questions of docs/reference/tables.md, answered by DuckDB and by Spark."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import duckdb
import pyarrow.parquet as pq
import pytest

from kohort.pipeline.analysis.analysis_run import analyse
from kohort.pipeline.analysis.local_engine import LocalEngine
from kohort.pipeline.analysis.sql_views import VIEWS
from kohort.pipeline.gold.gold_rows import LagMinuteRow, RebalanceRow
from kohort.pipeline.report.results import read_gold
from kohort.pipeline.silver.silver_schemas import COUNTS_ONCE
from kohort.pipeline.sources.found import find_sources
from tests.docs.blocks import blocks
from tests.pipeline.incidents.recorded import unpacked

QUESTIONS = [block.text for block in blocks("sql") if block.page == "docs/reference/tables.md"]


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return unpacked("classic-kafka-4.3", tmp_path_factory.mktemp("recorded"))


@pytest.fixture(scope="module")
def out(recorded: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return analysed([recorded], tmp_path_factory.mktemp("it's"))


def analysed(places: list[Path], out: Path) -> Path:
    sources, issues = find_sources(map(str, places))
    analyse(LocalEngine(), sources, issues, out, lambda _: None, "c")
    return out


def opened(out: Path) -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect()
    for statement in (out / "tables" / "duckdb.sql").read_text().split(";\n")[:-1]:
        connection.execute(statement).fetchall()
    return connection


def answers(out: Path) -> list[list[tuple[Any, ...]]]:
    return [opened(out).execute(question).fetchall() for question in QUESTIONS]


def test_members_that_delayed_groups(out: Path) -> None:
    waited: dict[tuple[str, str], list[int]] = {}
    for row in read_gold(out / "tables" / "gold", RebalanceRow):
        if row["laggard_client"] is not None:
            waited.setdefault((row["group_id"] or "", row["laggard_client"]), []).append(row["laggard_delay_us"] or 0)
    expected = [(*who, len(delays), sum(delays) / 1e6) for who, delays in waited.items()]
    assert answers(out)[0] == sorted(expected, key=lambda row: (-row[3], row[0], row[1]))
    assert len(expected) > 1


def test_partitions_with_largest_lag(out: Path) -> None:
    rows = [row for row in read_gold(out / "tables" / "gold", LagMinuteRow) if row["time_lag_ms"] is not None]
    ordered = sorted(
        (-(row["time_lag_ms"] or 0), row["group_id"] or "", row["topic"], row["part"], row["minute"], row["lag"])
        for row in rows
    )
    found = [
        (-round(1000 * behind_s), group, topic, part, round(1000 * minute.timestamp()), lag)
        for group, topic, part, minute, lag, behind_s in answers(out)[1]
    ]
    assert found == ordered[:10]


def test_how_often_groups_committed(out: Path) -> None:
    places: dict[tuple[str, datetime], list[str]] = {}
    for path in (out / "tables" / "silver" / "offset_commits").rglob("*.parquet"):
        for row in pq.ParquetFile(path).read().to_pylist():
            if not row["is_tombstone"] and row["txn"] in (None, "committed"):
                hour = datetime.fromtimestamp(row["ts_ms"] // 3_600_000 * 3600, UTC)
                places.setdefault((row["group_id"], hour), []).append(row["topic"])
    expected = [(*key, len(topics), len(set(topics))) for key, topics in sorted(places.items())]
    assert answers(out)[2] == expected


@pytest.mark.deep
@pytest.mark.spark
def test_spark_gives_the_same_answers(spark: Any, out: Path) -> None:
    for statement in (out / "tables" / "spark.sql").read_text().split(";\n")[:-1]:
        spark.sql(statement)

    def comparable(rows: list[tuple[Any, ...]]) -> list[list[Any]]:
        return [[v.timestamp() if isinstance(v, datetime) else v for v in row] for row in rows]

    for question, expected in zip(QUESTIONS, answers(out), strict=True):
        assert comparable([tuple(row) for row in spark.sql(question).collect()]) == comparable(expected), question
    connection = opened(out)
    for table in VIEWS:
        assert spark.table(table).count() == counted(connection, table), table
        assert spark.table(table).columns == [row[0] for row in connection.execute(f"DESCRIBE {table}").fetchall()]


def counted(connection: duckdb.DuckDBPyConnection, table: str) -> int:
    row = connection.execute(f"SELECT count(*) FROM {table}").fetchone()
    assert row is not None
    return int(row[0])


def rows_of_views(out: Path) -> Iterator[tuple[str, list[str]]]:
    connection = opened(out)
    for table in COUNTS_ONCE:
        rows = connection.execute(f"SELECT * FROM {table}").fetchall()
        yield table, sorted(map(repr, rows))


def test_overlapping_sources_give_unique_rows(out: Path, recorded: Path, tmp_path: Path) -> None:
    again = shutil.copytree(recorded, tmp_path / "again")
    twice = analysed([recorded, again], tmp_path / "out")
    files = (twice / "tables" / "silver" / "offset_commits").rglob("*.parquet")
    once, both = dict(rows_of_views(out)), dict(rows_of_views(twice))
    assert sum(pq.read_metadata(path).num_rows for path in files) == 2 * len(once["offset_commits"])
    assert once == both


def test_views_work_without_findings(tmp_path: Path) -> None:
    log = tmp_path / "server.log"
    log.write_text("[2026-11-20 22:17:43,630] INFO [GroupCoordinator id=2]: unheard of (kafka.X)\n")
    connection = opened(analysed([log], tmp_path / "out"))
    assert {table: counted(connection, table) for table in VIEWS} == dict.fromkeys(VIEWS, 0) | {"dq_issues": 1}
    columns = {row[0]: row[1] for row in connection.execute("DESCRIBE rebalances").fetchall()}
    assert (columns["start_ms"], columns["start_at"]) == ("BIGINT", "TIMESTAMP WITH TIME ZONE")


def test_gold_files_have_timestamps(out: Path) -> None:
    for path in (out / "tables" / "gold" / "generations").rglob("*.parquet"):
        for row in pq.ParquetFile(path).read().to_pylist():
            assert round(row["stable_at"].timestamp() * 1000) == row["stable_ms"]
            assert (row["end_at"] is None) == (row["end_ms"] is None)
