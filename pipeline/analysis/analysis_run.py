"""The complete path from the user's input to the results."""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from kohort.pipeline.analysis.data_issues import data_issues
from kohort.pipeline.analysis.engine import Engine, Workers
from kohort.pipeline.analysis.sql_views import write_views
from kohort.pipeline.analysis.stored_runs import StoredRun
from kohort.pipeline.gold.gold_files import read_table
from kohort.pipeline.gold.gold_rows import DataIssueRow, GroupHealthRow
from kohort.pipeline.gold.gold_versions import new_version, show
from kohort.pipeline.gold.outage_findings import judge_outages
from kohort.pipeline.gold.share_gold_rows import ShareGroupRow
from kohort.pipeline.history.group_analysis import GroupAnalysis
from kohort.pipeline.history.group_analysis import analyse as analyse_group
from kohort.pipeline.history.inputs import GroupInput
from kohort.pipeline.remote_path import Place, StoredPlace, remove_folder
from kohort.pipeline.report.all_clear import Missing, given_sources, missing
from kohort.pipeline.report.results import FindingRow, add_issues, findings, read_gold
from kohort.pipeline.rules.finding import several
from kohort.pipeline.rules.readiness import Readiness, readiness_json
from kohort.pipeline.silver.anonymizing import anonymize
from kohort.pipeline.silver.parquet_files import forget
from kohort.pipeline.sources.chunk import Issue
from kohort.pipeline.sources.found import Source
from kohort.pipeline.sources.window import EVERYTHING, Window
from kohort.pipeline.store_errors import store_error
from kohort.pipeline.whole_files import replace_text

Progress = Callable[[str], None]


class SimulatedGroup(NamedTuple):
    """Results of the simulations for a group; None for those that were not requested."""

    cluster: str
    group: str
    readiness: Readiness | None
    what_if: str | None  # costs under other settings: a part of the report


class Simulations(Protocol):
    """What to simulate for each group, by code in a folder that this one doesn't import."""

    @property
    def with_readiness(self) -> bool: ...

    @property
    def with_what_if(self) -> bool: ...

    def prepare(self, analysis: GroupAnalysis) -> Any:
        """Return what `play` needs of a group. It is called where the group is analyzed, and its result is pickled."""

    def play(self, prepared: Iterable[Any], workers: Workers) -> Iterator[SimulatedGroup]:
        """Simulate the prepared groups, and yield a result for each."""


@dataclass(slots=True)
class Simulated:
    """Results of simulations; None for those that were not requested."""

    readiness: list[Readiness] | None = None
    what_if: dict[tuple[str, str], str] | None = None  # parts of the report by cluster and group


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
    simulations: Simulations | None = None,
) -> Outcome:
    """Read the sources, compute the tables under `out`, and write findings.json and report.html there.

    Args:
        anonymous: Replace names, in a local folder only. The original names are never written to `out`.
        simulations: For each group; their results are in the report.
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
    simulations: Simulations | None,
) -> Outcome:
    run = StoredRun.begin(out, time.time())
    silver, gold = run.tables / "silver", run.tables / "gold"
    try:
        _read(engine, sources, silver, say, cluster, window)
        _fill_gold(engine, sources, issues, silver, gold, say, cluster, window)
        outcome = _write_results(
            out, run.tables, given_sources(sources), say, _simulate(engine, silver, window, simulations, say)
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
    simulations: Simulations | None = None,
) -> Outcome:
    """Compute gold, findings.json and report.html under `out`, and publish each when it is complete.

    Args:
        silver: Tables to read; the default is those under `out`.
        anonymous: Write no path of this machine.
        simulations: For each group; their results are in the report.
    """
    silver, gold = silver or out / "tables" / "silver", out / "tables" / "gold"
    version = new_version(gold)
    _fill_gold(engine, sources, issues, silver, version, say, cluster, window)
    show(gold, version)
    simulated = _simulate(engine, silver, window, simulations, say)
    views_of = Path("tables") if anonymous else None
    return _write_results(out, out / "tables", given_sources(sources), say, simulated, views_of)


def _simulate(
    engine: Engine, silver: Place, window: Window, simulations: Simulations | None, say: Progress
) -> Simulated:
    if simulations is None:
        return Simulated()
    begun = time.monotonic()
    say("simulating groups …")
    groups: list[SimulatedGroup] = []
    prepared = engine.map_groups(partial(prepare_group, simulations), silver, window)
    with engine.workers() as workers:
        for group in simulations.play(prepared, workers):
            groups.append(group)
            say(f"simulated {group.group} …")
    say(f"simulated {several(len(groups), 'group')} ({time.monotonic() - begun:.1f} s)")
    groups.sort(key=lambda group: (group.group, group.cluster))
    return Simulated(
        [group.readiness for group in groups if group.readiness is not None] if simulations.with_readiness else None,
        {(group.cluster, group.group): group.what_if for group in groups if group.what_if is not None}
        if simulations.with_what_if
        else None,
    )


def prepare_group(simulations: Simulations, group: GroupInput) -> Any:
    return simulations.prepare(analyse_group(group))


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
