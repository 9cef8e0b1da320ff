"""The whole way from what a person handed over to what that person gets."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from kohort.pipeline.analysis.data_issues import data_issues
from kohort.pipeline.analysis.engine import Engine
from kohort.pipeline.analysis.sql_views import write_views
from kohort.pipeline.gold.gold_rows import DataIssueRow, GroupHealthRow
from kohort.pipeline.gold.gold_versions import new_version, show
from kohort.pipeline.gold.outage_findings import judge_outages
from kohort.pipeline.report.results import FindingRow, add_issues, findings, read_gold
from kohort.pipeline.rules.finding import several
from kohort.pipeline.silver.parquet_files import forget
from kohort.pipeline.sources.chunk import Issue
from kohort.pipeline.sources.found import Source
from kohort.pipeline.sources.window import EVERYTHING, Window
from kohort.pipeline.whole_files import replace_text, replacing

Progress = Callable[[str], None]


@dataclass(slots=True)
class Outcome:
    findings: list[FindingRow]
    health: list[GroupHealthRow]
    issues: list[DataIssueRow]
    report: Path | None


def analyse(
    engine: Engine,
    sources: list[Source],
    issues: list[Issue],
    out: Path,
    say: Progress,
    cluster: str = "",
    window: Window = EVERYTHING,
) -> Outcome:
    """Reads the sources, computes the tables under `out`, and writes findings.json and report.html there."""
    silver = out / "tables" / "silver"
    begun = time.monotonic()
    say("reading …")
    forget(silver)
    read = engine.ingest(sources, silver, cluster, window)
    log = sum(read.get(t, 0) for t in ("offset_commits", "group_records"))
    done = f"{several(log, 'record')}, {several(read.get('events', 0), 'event')}"
    say(f"read {done} ({time.monotonic() - begun:.1f} s)")
    say("following each group …")
    return rebuild(engine, sources, issues, out, say, cluster, window=window)


def rebuild(
    engine: Engine,
    sources: list[Source],
    issues: list[Issue],
    out: Path,
    say: Progress,
    cluster: str = "",
    silver: Path | None = None,
    window: Window = EVERYTHING,
) -> Outcome:
    """Makes gold, findings.json and report.html under `out`, and shows each when it is complete.

    silver: the tables to read, if not those under `out`.
    """
    silver, gold = silver or out / "tables" / "silver", out / "tables" / "gold"
    begun = time.monotonic()
    version = new_version(gold)
    counts = engine.write_gold(silver, version, window)
    judge_outages(version)
    all_issues = issues + data_issues(sources, engine.silver_facts(silver))
    add_issues(version, cluster, [(issue.rule, issue.keys, issue.detail) for issue in all_issues])
    show(gold, version)
    done = f"{several(_groups(gold), 'group')}, {several(counts.get('rebalances', 0), 'rebalance')}"
    say(f"followed {done} ({time.monotonic() - begun:.1f} s)")
    return write_results(out, say)


def write_results(out: Path, say: Progress) -> Outcome:
    """findings.json and report.html from the gold tables under `out`."""
    from kohort.pipeline.report.html import write_report

    gold = out / "tables" / "gold"
    write_views(out / "tables")
    found = findings(gold)
    replace_text(out / "findings.json", json.dumps(found, indent=1, ensure_ascii=False) + "\n")
    begun = time.monotonic()
    report = out / "report.html"
    with replacing(report) as hidden:
        write_report(gold, found, hidden)
    say(f"wrote {out / 'findings.json'} and {report} ({time.monotonic() - begun:.1f} s)")
    return Outcome(found, read_gold(gold, GroupHealthRow), read_gold(gold, DataIssueRow), report)


def _groups(gold: Path) -> int:
    return len({row["group_id"] for row in read_gold(gold, GroupHealthRow)})
