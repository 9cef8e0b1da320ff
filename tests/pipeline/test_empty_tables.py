"""Any table of silver or gold may be empty, as when nothing happened in the window: the report is outcome all the same."""

from __future__ import annotations

import random
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from kohort.cli.analyze import analyze
from kohort.pipeline.analysis.analysis_run import Outcome, rebuild
from kohort.pipeline.analysis.engine import Engine
from kohort.pipeline.analysis.local_engine import LocalEngine
from kohort.pipeline.gold import gold_schemas
from kohort.pipeline.report.html import report_text
from kohort.pipeline.report.results import findings
from kohort.pipeline.silver import silver_schemas
from kohort.pipeline.silver.parquet_files import Writer, publish, written
from kohort.pipeline.silver.read_sources import ingest
from kohort.pipeline.silver.silver_rows import UndecodedRecord
from kohort.pipeline.silver.silver_schemas import table_of
from kohort.pipeline.sources.chunk import Issue
from kohort.pipeline.sources.found import find_sources
from kohort.pipeline.sources.source_rows import ShareLagSample
from kohort.pipeline.sources.window import Window
from tests.pipeline.incidents.recorded import unpacked
from tests.pipeline.synthetic import START_MS, Plan, write_segments

Rows = dict[str, pa.Table]
RARE = {
    "decode_errors": UndecodedRecord(
        partition=0, offset=1, ts_ms=START_MS, record_type=99, value_version=0, error="unknown", key=b"", value=b""
    ),
    "share_lags": ShareLagSample(group_id="shared", topic="orders", part=0, sampled_ms=START_MS, start_offset=1, lag=2),
    "dq_issues": Issue("clock_step", "", "times went back"),
}
"""Rows of the tables that no recording fills."""
GROUPS = ("rejecting", "upgraded", "coordinator-restarts")
"""A share group, a streams group and a classic group of the recordings, which fill all other tables."""
RECORDINGS = ("share-kohort", "streams-kafka-4.3", "kohort")
TABLES = tuple(silver_schemas.SCHEMAS)


@pytest.fixture(scope="module")
def full(tmp_path_factory: pytest.TempPathFactory) -> Rows:
    """Every silver table with some rows."""
    folder = tmp_path_factory.mktemp("recorded")
    recordings = [unpacked(name, folder / name) for name in RECORDINGS]
    sources, _ = find_sources(map(str, recordings))
    with Writer(folder / "silver", "0") as writer:
        ingest(sources, "", writer, Window(groups=GROUPS))
        for table, row in RARE.items():
            writer.add(table, table_of(table, [row], ""))
    publish(folder / "silver", "0", [writer.task])
    assert written(folder / "silver") == set(TABLES)
    return {table: pq.read_table(folder / "silver" / table, partitioning=None) for table in TABLES}


def write_silver(folder: Path, full: Rows, kept: Iterable[str], *, with_empty_files: bool = False) -> None:
    """Write these tables. with_empty_files: the other_tables are files without rows, else they don't exist."""
    with Writer(folder, "0") as writer:
        for table in TABLES:
            if table in kept:
                writer.add(table, full[table])
            elif with_empty_files:
                writer.add(table, silver_schemas.SCHEMAS[table].empty_table())
    publish(folder, "0", [writer.task])


def report_of(engine: Engine, full: Rows, kept: Iterable[str], out: Path, **how: bool) -> Outcome:
    """Write these tables and analyze them."""
    shutil.rmtree(out, ignore_errors=True)
    write_silver(out / "tables" / "silver", full, kept, **how)
    outcome = rebuild(engine, [], [], out, lambda _: None)
    assert (out / "report.html").stat().st_size
    return outcome


@pytest.mark.parametrize("table", TABLES)
def test_one_silver_table_is_empty(full: Rows, table: str, tmp_path: Path) -> None:
    other_tables = [name for name in TABLES if name != table]
    assert report_of(LocalEngine(), full, other_tables, tmp_path).health
    assert report_of(LocalEngine(), full, other_tables, tmp_path, with_empty_files=True).health


@pytest.mark.parametrize("table", TABLES)
def test_all_other_silver_tables_are_empty(full: Rows, table: str, tmp_path: Path) -> None:
    report_of(LocalEngine(), full, [table], tmp_path)
    report_of(LocalEngine(), full, [table], tmp_path, with_empty_files=True)


def test_all_silver_tables_are_empty(full: Rows, tmp_path: Path) -> None:
    assert not report_of(LocalEngine(), full, [], tmp_path).health
    assert not report_of(LocalEngine(), full, [], tmp_path, with_empty_files=True).health


@pytest.mark.long
def test_any_silver_tables_are_empty(full: Rows, tmp_path: Path) -> None:
    chance = random.Random(45)
    for _ in range(100):
        kept = [table for table in TABLES if chance.random() < 0.5]
        report_of(LocalEngine(), full, kept, tmp_path, with_empty_files=chance.random() < 0.5)


@pytest.fixture(scope="module")
def gold(full: Rows, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The gold tables of all rows."""
    folder = tmp_path_factory.mktemp("gold")
    write_silver(folder / "silver", full, TABLES)
    LocalEngine().write_gold(folder / "silver", folder / "gold")
    return folder / "gold"


@pytest.mark.parametrize("table", gold_schemas.SCHEMAS)
def test_gold_tables_are_empty(gold: Path, table: str, tmp_path: Path) -> None:
    for kept in ({table}, gold_schemas.SCHEMAS.keys() - {table}):
        place = tmp_path / f"{len(kept)}"
        for name in kept:
            if (gold / name).is_dir():
                shutil.copytree(gold / name, place / name)
        assert report_text(place, findings(place))


@pytest.mark.spark
@pytest.mark.parametrize("kept", [(), ("log_ranges", "group_records", "group_members")])
def test_tables_are_empty_in_spark(spark: Any, full: Rows, kept: tuple[str, ...], tmp_path: Path) -> None:
    from kohort.pipeline.job.spark_engine import SparkEngine

    outcome = report_of(SparkEngine(spark), full, kept, tmp_path / "spark")
    expected = report_of(LocalEngine(), full, kept, tmp_path / "local")
    assert outcome.health == expected.health
    assert outcome.findings == expected.findings


def analyzed(*arguments: str) -> str:
    result = CliRunner().invoke(analyze, list(arguments))
    assert result.exit_code == 0, result.output
    return result.output


@pytest.fixture
def segments(tmp_path: Path) -> Path:
    """The log of a few groups of last year."""
    write_segments(Plan(records=200, groups=3, parts=4), tmp_path / "segments")
    return tmp_path / "segments"


def test_window_has_no_active_group(segments: Path, tmp_path: Path) -> None:
    output = analyzed(str(segments), "--last", "1m", "--out", str(tmp_path / "out"))
    assert "none was active in that time" in output
    assert "none was active in that time" in (tmp_path / "out" / "report.html").read_text()


@pytest.mark.spark
def test_no_group_is_active_in_spark(
    spark: Any, segments: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(type(spark), "stop", lambda _: None)
    out = tmp_path / "out"
    assert "none was active in that time" in analyzed(
        str(segments), "--last", "1m", "--engine", "spark", "--out", f"{out}"
    )
