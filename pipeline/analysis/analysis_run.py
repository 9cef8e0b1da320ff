"""The complete path from the user's input to the results."""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Callable, Collection
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from kohort.pipeline.analysis.data_issues import data_issues
from kohort.pipeline.analysis.engine import Engine
from kohort.pipeline.analysis.sql_views import write_views
from kohort.pipeline.analysis.stored_runs import StoredRun
from kohort.pipeline.gold.gold_files import read_table
from kohort.pipeline.gold.gold_rows import DataIssueRow, GroupHealthRow
from kohort.pipeline.gold.gold_versions import new_version, show
from kohort.pipeline.gold.outage_findings import judge_outages
from kohort.pipeline.gold.share_gold_rows import ShareGroupRow
from kohort.pipeline.history.group_analysis import GroupAnalysis
from kohort.pipeline.history.group_analysis import analyse as analyse_group
from kohort.pipeline.remote_path import Place, StoredPlace, remove_folder
from kohort.pipeline.report.all_clear import Missing, given_sources, missing
from kohort.pipeline.report.results import FindingRow, add_issues, findings, read_gold
from kohort.pipeline.rules.finding import several
from kohort.pipeline.rules.readiness import Readiness, Statement, readiness, readiness_json
from kohort.pipeline.silver.anonymizing import anonymize
from kohort.pipeline.silver.parquet_files import forget
from kohort.pipeline.sources.chunk import Issue
from kohort.pipeline.sources.found import Source
from kohort.pipeline.sources.window import EVERYTHING, Window
from kohort.pipeline.store_errors import store_error
from kohort.pipeline.whole_files import replace_text

Progress = Callable[[str], None]


@dataclass(frozen=True, kw_only=True)
class Simulations:
    """What to simulate for each group, with functions of a folder that this one doesn't import."""

    move_costs: Callable[[GroupAnalysis], list[Statement]] | None = None  # of a move to the consumer protocol
    what_if: Callable[[GroupAnalysis], str] | None = None  # cost under other settings: part of the report


@dataclass(slots=True)
class Simulated:
    """Results of simulations; None for those that were not requested."""

    readiness: list[Readiness] | None = None
    what_if: dict[str, str] | None = None  # parts of the report by group


NOTHING_SIMULATED = Simulations()


@dataclass(slots=True)
class Outcome:
    findings: list[FindingRow]
    health: list[GroupHealthRow]
    issues: list[DataIssueRow]
    report: Place | None
    shared: list[ShareGroupRow] = field(default_factory=list)
    provided: Collection[str] = ()  # sources that were read, as `given_sources` names them
    readiness: list[Readiness] | None = None  # for the consumer protocol, or None if it was not requested

    def missing(self, accepted: Collection[str] = ()) -> list[Missing]:
        """Return the input that is needed before groups can be called healthy, without the accepted sources."""
        return missing(self.health, self.issues, self.shared, accepted, self.provided)


def analyse(
    engine: Engine,
    sources: list[Source],
    issues: list[Issue],
    out: Place,
    say: Progress,
    cluster: str = "",
    window: Window = EVERYTHING,
    *,
    anonymous: bool = False,
    simulations: Simulations = NOTHING_SIMULATED,
) -> Outcome:
    """Read the sources, compute the tables under `out`, and write findings.json and report.html there.

    Args:
        anonymous: Replace names, in a local folder only. The original names are never written to `out`.
        simulations: With `move_costs`, each group's readiness for the consumer protocol is checked, too.
    """
    if isinstance(out, StoredPlace):
        assert not anonymous, "the command line rejects it"
        return _analyse_into_store(engine, sources, issues, out, say, cluster, window, simulations)
    silver = out / "tables" / "silver"
    forget(silver)
    if anonymous:
        with tempfile.TemporaryDirectory() as folder:
            _read(engine, sources, Path(folder), say, cluster, window)
            issues, _ = anonymize(Path(folder), silver, issues)
    else:
        _read(engine, sources, silver, say, cluster, window)
    return rebuild(
        engine, sources, issues, out, say, cluster, window=window, anonymous=anonymous, simulations=simulations
    )


def _analyse_into_store(
    engine: Engine,
    sources: list[Source],
    issues: list[Issue],
    out: StoredPlace,
    say: Progress,
    cluster: str,
    window: Window,
    simulations: Simulations,
) -> Outcome:
    run = StoredRun.begin(out, time.time())
    silver, gold = run.tables / "silver", run.tables / "gold"
    try:
        _read(engine, sources, silver, say, cluster, window)
        _fill_gold(engine, sources, issues, silver, gold, say, cluster, window)
        outcome = _write_results(
            out, run.tables, given_sources(sources), say, simulated=_simulate(silver, window, simulations, say)
        )
    except Exception:
        with suppress(OSError):  # the user must see the original error
            remove_folder(run.tables)
        raise
    run.show()
    try:
        run.clean(time.time())
    except OSError as error:
        say(f"cannot remove older runs in {out}/tables: {store_error(str(error)) or error}")
    return outcome


def _read(
    engine: Engine, sources: list[Source], silver: Place, say: Progress, cluster: str, window: Window
) -> None:  # fmt: skip
    begun = time.monotonic()
    say("reading …")
    read = engine.ingest(sources, silver, cluster, window)
    log = sum(read.get(t, 0) for t in ("offset_commits", "group_records"))
    summary = f"{several(log, 'record')}, {several(read.get('events', 0), 'event')}"
    say(f"read {summary} ({time.monotonic() - begun:.1f} s)")
    say("analyzing each group …")


def rebuild(
    engine: Engine,
    sources: list[Source],
    issues: list[Issue],
    out: Path,
    say: Progress,
    cluster: str = "",
    silver: Place | None = None,
    window: Window = EVERYTHING,
    *,
    anonymous: bool = False,
    simulations: Simulations = NOTHING_SIMULATED,
) -> Outcome:
    """Compute gold, findings.json and report.html under `out`, and publish each when it is complete.

    Args:
        silver: Tables to read; the default is those under `out`.
        anonymous: Write no path of this machine.
        simulations: With `move_costs`, each group's readiness for the consumer protocol is checked, too.
    """
    silver, gold = silver or out / "tables" / "silver", out / "tables" / "gold"
    version = new_version(gold)
    _fill_gold(engine, sources, issues, silver, version, say, cluster, window)
    show(gold, version)
    simulated = _simulate(silver, window, simulations, say)
    views_of = Path("tables") if anonymous else None
    return _write_results(out, out / "tables", given_sources(sources), say, simulated, views_of)


def _simulate(silver: Place, window: Window, simulations: Simulations, say: Progress) -> Simulated:
    if simulations == NOTHING_SIMULATED:
        return Simulated()
    from kohort.pipeline.analysis.local_engine import read_groups

    begun, count = time.monotonic(), 0
    checked: list[Readiness] = []
    parts: dict[str, str] = {}
    for group in read_groups(silver, window):
        analysis = analyse_group(group)
        count += 1
        say(f"simulating {analysis.group_id} …")
        if simulations.move_costs is not None:
            result = readiness(analysis)
            result.statements += simulations.move_costs(analysis)
            checked.append(result)
        if simulations.what_if is not None:
            parts[analysis.group_id] = simulations.what_if(analysis)
    say(f"simulated {several(count, 'group')} ({time.monotonic() - begun:.1f} s)")
    return Simulated(
        None if simulations.move_costs is None else sorted(checked, key=lambda group: group.group),
        None if simulations.what_if is None else dict(sorted(parts.items())),
    )


def _fill_gold(
    engine: Engine, sources: list[Source], issues: list[Issue], silver: Place, gold: Place, say: Progress, cluster: str,
    window: Window,
) -> None:  # fmt: skip
    begun = time.monotonic()
    counts = engine.write_gold(silver, gold, window)
    judge_outages(gold)
    all_issues = issues + data_issues(sources, engine.silver_facts(silver))
    add_issues(gold, cluster, [(issue.rule, issue.keys, issue.detail) for issue in all_issues])
    summary = f"{several(_groups(gold), 'group')}, {several(counts.get('rebalances', 0), 'rebalance')}"
    say(f"followed {summary} ({time.monotonic() - begun:.1f} s)")


def _write_results(
    out: Place,
    tables: Place,
    provided: Collection[str],
    say: Progress,
    simulated: Simulated,
    views_of: Place | None = None,
) -> Outcome:
    from kohort.pipeline.report.html import report_text

    gold = tables / "gold"
    write_views(out / "tables", tables, views_of)
    results = findings(gold)
    replace_text(out / "findings.json", json.dumps(results, indent=1, ensure_ascii=False) + "\n")
    if simulated.readiness is not None:
        replace_text(out / "readiness.json", readiness_json(simulated.readiness))
    elif (earlier := out / "readiness.json").exists():
        earlier.unlink()  # it is about the sources of an earlier run
    begun = time.monotonic()
    report = out / "report.html"
    replace_text(report, report_text(gold, results, provided, simulated.readiness, simulated.what_if))
    say(f"wrote {out / 'findings.json'} and {report} ({time.monotonic() - begun:.1f} s)")
    return Outcome(
        results,
        read_gold(gold, GroupHealthRow),
        read_gold(gold, DataIssueRow),
        report,
        read_gold(gold, ShareGroupRow),
        provided,
        simulated.readiness,
    )


def _groups(gold: Place) -> int:
    group_ids = read_table(gold, "group_health", ["group_id"])
    return 0 if group_ids is None else len(group_ids["group_id"].unique())
