"""The Spark job carries rows and changes none: the same tables as without it, twice in a row, from one command."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from kohort.pipeline.gold.gold_schemas import ROW_TYPES
from kohort.pipeline.gold.group_tables import analyse_group
from kohort.pipeline.history.inputs import GroupInput
from kohort.pipeline.report.results import read_gold
from kohort.pipeline.sources.found import find_sources

pytestmark = pytest.mark.spark


def sorted_rows(rows: list[dict[str, Any]]) -> list[str]:
    """Return rows as sorted text, without nulls."""

    def plain(value: Any) -> Any:
        return float(value) if isinstance(value, int) and not isinstance(value, bool) else value

    return sorted(
        json.dumps({k: plain(v) for k, v in row.items() if k != "cluster" and v is not None}, sort_keys=True)
        for row in rows
    )


@pytest.mark.deep
def test_recording_analyzed_by_spark(
    spark: Any, recording: Path, recorded_groups: dict[str, GroupInput], tmp_path: Path
) -> None:
    from kohort.pipeline.analysis.analysis_run import analyse
    from kohort.pipeline.job.ingest import ingest_sources
    from kohort.pipeline.job.spark_engine import SparkEngine

    sources, issues = find_sources([str(recording)])
    outcome = analyse(SparkEngine(spark), sources, issues, tmp_path, lambda _: None)
    found = {(row["group"], row["rule"]) for row in outcome.findings}
    assert ("one-slow-member", "R01") in found
    assert (tmp_path / "report.html").stat().st_size > 100_000
    assert len(json.loads((tmp_path / "findings.json").read_text())) == len(outcome.findings)
    gold = tmp_path / "tables" / "gold"
    alone = {name: analyse_group(group) for name, group in recorded_groups.items()}
    for table in ("rebalances", "partition_moves", "member_sessions", "diagnoses", "commit_stalls", "lag_minutes"):
        expected = [{**row, "group_id": name} for name, rows in alone.items() for row in rows.get(table, [])]
        assert sorted_rows(read_gold(gold, ROW_TYPES[table])) == sorted_rows(expected), table
    again = ingest_sources(spark, sources, tmp_path / "tables" / "silver")
    files = list((tmp_path / "tables" / "silver" / "offset_commits").rglob("*.parquet"))
    import pyarrow.parquet as pq

    assert sum(pq.read_metadata(file).num_rows for file in files) == again.rows["offset_commits"]


@pytest.mark.deep
def test_analyze_command(recording: Path, tmp_path: Path, spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from kohort.cli.analyze import analyze

    monkeypatch.setattr(type(spark), "stop", lambda _: None)
    log = recording / "coordinator-logs" / "broker-2.log"
    result = CliRunner().invoke(
        analyze, [str(log), str(tmp_path / "nowhere"), "--engine", "spark", "--out", str(tmp_path / "out")]
    )
    assert result.exit_code == 0, result.output
    assert "no such file or directory" in result.output
    assert "frozen-at-barrier: " in result.output
    assert "c-1" in result.output


def test_nothing_to_analyse(tmp_path: Path) -> None:
    from kohort.cli.analyze import analyze

    result = CliRunner().invoke(analyze, [str(tmp_path)])
    assert result.exit_code == 1
    assert "Traceback" not in result.output
    assert "nothing to analyse" in result.output


@pytest.mark.deep
def test_sources_as_spark_formats(spark: Any, recording: Path) -> None:
    from kohort.pipeline.job.formats import register

    register(spark)
    logs = recording / "segments" / "__consumer_offsets-14"
    raw = spark.read.format("group_log_files").load(str(logs))
    assert {row["txn"]: row["count"] for row in raw.groupBy("txn").count().collect()}["aborted"] == 86
    told = spark.read.format("coordinator_text_log").load(str(recording / "coordinator-logs"))
    assert told.where("kind = 'join_completed'").count() == 136
    ends = spark.read.format("end_offsets").load(str(recording / "end-offsets.jsonl.gz"))
    assert ends.where("topic = 'warmup' and part = 0").agg({"log_end": "max"}).first()[0] > 0


def test_failure_prints_sentence_and_file(recording: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import kohort.pipeline.session as session
    from kohort.cli.analyze import analyze

    def broken(_: str | None) -> None:
        raise TypeError("no such cluster\n  at a.b.C")

    monkeypatch.setattr(session, "spark_session", broken)
    log = recording / "coordinator-logs" / "broker-2.log"
    result = CliRunner().invoke(analyze, [str(log), "--engine", "spark", "--out", str(tmp_path / "out")])
    assert result.exit_code == 1
    assert "Error: no such cluster\ntraceback: " in result.output
    assert "at a.b.C" in (tmp_path / "out" / "error.log").read_text()
