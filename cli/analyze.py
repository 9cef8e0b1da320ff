"""`kohort analyze`: explains from one command why groups rebalanced."""

from __future__ import annotations

import gc
import sys
from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING

import click
from click.core import ParameterSource

from kohort.base.lean_imports import without as hidden_packages
from kohort.base.visible import visible
from kohort.cli.analyze_engine import (
    SPARK,
    checked_engine,
    chosen_engine,
    engine_for_names,
    opened_engine,
)
from kohort.cli.analyze_errors import one_line_errors
from kohort.cli.analyze_options import (
    anonymize_option,
    exit_code,
    notes_folder,
    out_place,
    window_of,
)
from kohort.cli.connecting import config_option, security_of
from kohort.pipeline.terminal import print_findings, progress, say, words

if TYPE_CHECKING:
    from kohort.pipeline.analysis.analysis_run import Outcome, Simulations
    from kohort.pipeline.remote_path import Place
    from kohort.pipeline.sources.chunk import Issue
    from kohort.pipeline.sources.found import Source
    from kohort.pipeline.sources.window import Window


@click.command("analyze")
@click.argument("sources", nargs=-1, required=True, metavar="SOURCE…")
@click.option(
    "--out",
    default="kohort-analysis",
    show_default=True,
    metavar="FOLDER",
    help="Write tables, findings.json and report.html there: a folder, or s3://…, abfss://…, gs://…, hdfs://….",
)
@click.option(
    "--cluster",
    "master",
    metavar="URL",
    help="A Spark master (spark://…, yarn, local[2]) or Spark Connect address (sc://…) whose workers see the same "
    "files.  [default: this machine]",
)
@click.option(
    "--engine",
    type=click.Choice(["auto", "local", "spark"]),
    default="auto",
    show_default=True,
    help="Run in this process (local) or on Spark; auto takes the faster one for the number of records, by the cores "
    "and the memory of this machine. --cluster uses Spark.",
)
@click.option("--name", default="", help="Name of the Kafka cluster, first column of every table.")
@config_option
@click.option("--follow", "following", is_flag=True, hidden=True)
@click.option("--since", metavar="MOMENT", help="Leave out what ended before: 2026-05-31T14:00, or 14:00 of today.")
@click.option("--until", metavar="MOMENT", help="Leave out what started later.")
@click.option("--last", metavar="LENGTH", help="Only the last 30m, 2h or 1d.")
@click.option(
    "--group",
    "groups",
    multiple=True,
    metavar="NAME",
    help="Only this group, or the groups of a pattern like 'orders-*'; repeatable.",
)
@click.option(
    "--fail-on",
    type=click.Choice(["warning", "critical"]),
    help="For CI: exit code 3 if a finding of at least this severity exists, 4 if the sources do not suffice "
    "to decide.",
)
@click.option(
    "--without",
    type=click.Choice(["offsets-topic", "log-ends", "broker-log", "share-state", "share-events"]),
    multiple=True,
    help="Accept that this source is missing: do not report what only it could show. Repeatable.",
)
@anonymize_option
@click.option(
    "--readiness",
    "readiness",
    is_flag=True,
    help="Also check what prevents group.protocol=consumer (KIP-848) in each group, and simulate what the "
    "move would cost: in readiness.json and the report, too.",
)
@click.option(
    "--what-if",
    "changes",
    multiple=True,
    metavar="NAME=VALUE",
    help="Also simulate what each group's history would have cost with this setting, as kohort what-if --set does: a "
    "section of the report with timelines. Repeatable; all changes together are one variant. --what-if suggest tries "
    "several.",
)
@click.option("--verbose", is_flag=True, help="Also print findings of severity info.")
def analyze(
    sources: tuple[str, ...],
    out: str,
    master: str | None,
    engine: str,
    name: str,
    config: Path | None,
    following: bool,
    since: str | None,
    until: str | None,
    last: str | None,
    groups: tuple[str, ...],
    fail_on: str | None,
    without: tuple[str, ...],
    anonymize: bool,
    readiness: bool,
    changes: tuple[str, ...],
    verbose: bool,
) -> None:
    """Find out why groups rebalanced, who caused it, what it cost and what to change.

    SOURCE: a bootstrap address, a data directory, segment files of __consumer_offsets and __share_group_state, exports,
    a broker's text log, an event log, samples of log ends; several together; also in a store: s3://backups/broker-1/.

    Findings go to stdout, progress to stderr. Exit code 0: the analysis succeeded, whatever it found; 1: it failed, or
    nothing in one of the sources was understood; 2: the command line is wrong; 3: --fail-on, and such a finding exists;
    4: --fail-on, and the sources do not suffice to decide; 130: interrupted.
    """
    if following:
        raise click.UsageError("--follow is a command of its own now: kohort follow HOST:9092")
    with_spark = checked_engine(engine, master)
    with one_line_errors(out, with_spark):
        simulations = _simulations(changes, with_readiness=readiness)
        place = out_place(out)
        window = window_of(since, until, last, groups)
        engine = engine_for_names(place, with_spark) if anonymize else engine
        inputs, issues = find_inputs(sources, config)
        outcome = _run(inputs, issues, place, engine, master, name, verbose, window, without, anonymize, simulations)
        if code := exit_code(outcome, fail_on, without):
            sys.exit(code)


def _simulations(changes: tuple[str, ...], *, with_readiness: bool) -> Simulations | None:
    if not changes and not with_readiness:
        return None
    from kohort.cli.what_if import settings_of
    from kohort.whatif.played_settings import SettingError, check_names
    from kohort.whatif.report_simulations import ReportSimulations

    requested = {} if changes == ("suggest",) else settings_of(changes, "--what-if")
    try:
        check_names(requested)
    except SettingError as error:
        raise click.UsageError(visible(str(error))) from None
    return ReportSimulations(with_readiness=with_readiness, changes=requested if changes else None)


def find_inputs(sources: tuple[str, ...], config: Path | None) -> tuple[list[Source], list[Issue]]:
    with hidden_packages("hypothesis"):
        from kohort.pipeline.sources.found import WIRE, find_sources

    security = security_of(config)
    inputs, issues = find_sources(sources, security)
    is_explicit = click.get_current_context().get_parameter_source("config") is ParameterSource.COMMANDLINE
    if is_explicit and not any(source.kind == WIRE for source in inputs):
        say("--command-config is ignored: none of the sources is an address")
    return inputs, issues


def _run(
    inputs: list[Source],
    issues: list[Issue],
    out: Place,
    engine: str,
    master: str | None,
    name: str,
    verbose: bool,
    window: Window,
    without: Collection[str],
    anonymous: bool,
    simulations: Simulations | None,
) -> Outcome:
    gc.enable()  # the command line runs without it; an analysis runs long enough to need it
    for issue in issues:
        say(f"{issue.keys}: {issue.detail}")
    from kohort.pipeline.silver.read_sources import expand

    inputs, problems = expand(inputs)
    for issue in problems:
        say(issue.detail)
    issues += problems
    if not inputs:
        raise click.ClickException("nothing to analyse: no source can be read")
    say(f"sources: {words(inputs)}")
    chosen = chosen_engine(engine, master, inputs)
    if isinstance(out, Path):
        prepare_folder(out, following=False, with_spark=chosen == SPARK)
    with opened_engine(chosen, master, lambda: notes_folder(out)) as (worker, tasks):
        from kohort.pipeline.analysis.analysis_run import analyse

        with progress(tasks) as show_progress:
            outcome = analyse(
                worker, inputs, issues, out, show_progress, name, window, anonymous=anonymous, simulations=simulations
            )
        print_findings(outcome, verbose, without)
    from kohort.pipeline.silver.read_sources import NOTHING_READ

    unread = [issue for issue in outcome.issues if issue["rule"] == NOTHING_READ]
    for row in unread:
        say(visible(f"! {row['keys']}: {row['detail']}"))
    if unread:
        sys.exit(1)
    return outcome


def prepare_folder(out: Path, following: bool, with_spark: bool) -> None:
    """Create the output folder.

    An analysis and the data that `kohort follow` collects don't share one: each would read the other's rows as its own.
    """
    try:
        out.mkdir(parents=True, exist_ok=True)
        if with_spark:
            with open(out / "spark.log", "ab"):
                pass
    except (FileExistsError, NotADirectoryError):
        raise click.ClickException(f"--out {out}: expected a folder, but a file exists there") from None
    except OSError as error:
        raise click.ClickException(f"--out {out}: cannot be written ({error.strerror}); name another folder") from None
    collected = (out / "checkpoints").is_dir() or (out / "follow.json").exists()
    if collected and not following:
        raise click.ClickException(f"--out {out}: contains data collected by kohort follow; name another folder")
    if following and not collected and (out / "tables" / "silver").is_dir():
        raise click.ClickException(f"--out {out}: contains an analysis, not data of kohort follow; name another folder")


if __name__ == "__main__":
    sys.exit(analyze())
