"""kohort's own logs are read by the analysis without loss of columns or precision."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kohort.pipeline.gold.group_tables import analyse_group
from kohort.pipeline.sources.event_lines import read_event_log
from kohort.pipeline.sources.found import find_sources
from kohort.pipeline.sources.source_rows import GroupEvent
from tests.pipeline.local_groups import group_from
from tests.pipeline.own_logs import LoggedWorld, slow_member, slow_member_that_leaves


@pytest.fixture(scope="module")
def world() -> LoggedWorld:
    return slow_member()


@pytest.fixture(scope="module")
def logs(world: LoggedWorld, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("logs")
    world.save(folder)
    return folder


def test_own_log_rows_are_decoded(world: LoggedWorld, logs: Path) -> None:
    (path,) = (logs / "events").iterdir()
    rows = [row for row in read_event_log(path) if isinstance(row, GroupEvent)]
    assert len(rows) == len(world.events)
    for row, event in zip(rows, world.events, strict=True):
        for name in event.__slots__:
            meant, read = getattr(event, name), getattr(row, name)
            assert read == (list(meant) if isinstance(meant, tuple) else meant), name
    assert [row.seq for row in rows] == [*range(1, len(rows) + 1)]
    assert len({row.event_id for row in rows}) == len(rows)


def test_exact_figures(logs: Path, tmp_path: Path) -> None:
    rows = analyse_group(group_from(tmp_path, logs))
    slow = [row for row in rows["rebalances"] if row["cause"] == "join_new" and (row["prepare_us"] or 0) > 1_000_000]
    assert len(slow) == 3
    for row in slow:
        assert row["start_source"] == "event"
        assert row["prepare_us"] == 30_000_000
        assert row["cause_confidence"] == "certain"
        assert [each.partition("-")[0] for each in row["evicted"]] == ["bob"]
        assert [each.partition("-")[0] for each in row["joined"]] == ["eve"]
    short = [row for row in rows["rebalances"] if row["prepare_us"] == 300_000]
    assert [(row["cause"], row["left"][0].partition("-")[0]) for row in short] == [("join_new", "eve")] * 3


def test_findings(logs: Path, tmp_path: Path) -> None:
    found = {row["rule_id"]: row for row in analyse_group(group_from(tmp_path, logs))["diagnoses"]}
    assert "bob" in found["R01"]["clients"]
    assert found["R01"]["confidence"] == "certain"
    assert json.loads(found["R22"]["evidence"]) == {"errors": ["UNKNOWN_MEMBER_ID"], "rejected": 12}
    assert found["R22"]["clients"] == ["bob"]


def test_slow_member_leaves_silently(tmp_path: Path) -> None:
    slow_member_that_leaves().save(tmp_path / "logs")
    found = {row["rule_id"]: row for row in analyse_group(group_from(tmp_path, tmp_path / "logs"))["diagnoses"]}
    assert found["R01"]["clients"] == ["bob"]
    assert "waited once for client bob, 29.0 s" in found["R01"]["text"]
    assert "left at its poll timeout" in found["R01"]["text"]


def test_event_log_alone_names_culprit(logs: Path, tmp_path: Path) -> None:
    found = {row["rule_id"]: row for row in analyse_group(group_from(tmp_path, logs / "events"))["diagnoses"]}
    assert "bob" in found["R01"]["clients"]


@pytest.mark.deep
@pytest.mark.spark
def test_through_spark(spark: Any, logs: Path, tmp_path: Path) -> None:
    from kohort.pipeline.analysis.analysis_run import analyse
    from kohort.pipeline.job.spark_engine import SparkEngine

    sources, issues = find_sources([str(logs)])
    outcome = analyse(SparkEngine(spark), sources, issues, tmp_path, lambda _: None)
    findings = {row["rule"]: row for row in outcome.findings}
    assert "bob" in findings["R01"]["clients"]
    assert [issue for issue in outcome.issues if "event" in issue["rule"]] == []
    assert json.loads((tmp_path / "findings.json").read_text())
    assert (tmp_path / "report.html").is_file()
