"""`kohort analyze`: explains from one command why groups rebalanced."""

from __future__ import annotations

import gc
import signal
import sys
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

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
    spark_apart,
)
from kohort.cli.analyze_errors import kept, plain
from kohort.cli.analyze_options import (
    anonymize_option,
    check_following,
    exit_code,
    notes_folder,
    out_place,
    webhook_address,
    window_of,
)
from kohort.cli.connecting import config_option
from kohort.cli.early_end import INTERRUPTED
from kohort.pipeline.java import NoJavaError
from kohort.pipeline.session import NoSparkError
from kohort.pipeline.terminal import print_findings, progress, say, words

if TYPE_CHECKING:
    from kohort.pipeline.analysis.analysis_run import MoveCosts, Outcome
    from kohort.pipeline.live.follow_metrics import FollowMetrics
    from kohort.pipeline.live.webhook import Message
    from kohort.pipeline.remote_path import Place
    from kohort.pipeline.sources.chunk import Issue
    from kohort.pipeline.sources.found import Source
    from kohort.pipeline.sources.window import Window

_ENDS = (signal.SIGINT, signal.SIGTERM)
_LOGIN_TRAVELS = (
    "the login is sent to Spark's server as options of a source: its spark.redaction.regex decides whether its logs "
    "and pages show them (docs/how-to/clusters.md)"
)
AGAIN_S = 1.0


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
    help="Who does the work: this process (local), which finishes a few million records before Spark has started, "
    "or Spark; auto decides by the number of records. --cluster and --follow use Spark.",
)
@click.option("--name", default="", help="Name of the Kafka cluster, first column of every table.")
@config_option
@click.option("--follow", "following", is_flag=True, help="Keep reading a cluster, and print alerts as they arise.")
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
@click.option("--webhook", metavar="URL", help="With --follow: also post alerts there as JSON.")
@click.option(
    "--metrics-port",
    type=click.IntRange(0, 65_535),
    metavar="PORT",
    help="With --follow: serve Prometheus metrics there (0: any free port).",
)
@click.option(
    "--readiness",
    "readiness",
    is_flag=True,
    help="Also check what prevents group.protocol=consumer (KIP-848) in each group, and simulate what the "
    "move would cost: in readiness.json and the report, too.",
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
    webhook: str | None,
    metrics_port: int | None,
    readiness: bool,
    verbose: bool,
) -> None:
    """Find out why groups rebalanced, who caused it, what it cost and what to change.

    SOURCE: a bootstrap address, a data directory, segment files of __consumer_offsets and __share_group_state, exports,
    a broker's text log, an event log, samples of log ends; several together; also in a store: s3://backups/broker-1/.

    With --follow, SOURCE is one bootstrap address, and optionally brokers' text logs and event logs, or folders of
    them, which may grow and be rotated: alerts are printed as they arise, tables grow, and the report is written again
    every minute. Ctrl-C stops it after a last report, a second Ctrl-C at once; the same command continues from there.

    Findings go to stdout, progress to stderr. Exit code 0: the analysis succeeded, whatever it found; 1: it failed, or
    nothing in one of the sources was understood; 2: the command line is wrong; 3: --fail-on, and such a finding exists;
    4: --fail-on, and the sources do not suffice to decide; 130: interrupted.
    """
    place: Place = Path(out)
    with_spark = checked_engine(engine, master, following)
    try:
        place = out_place(out, following)
        window, address = window_of(since, until, last, groups), webhook_address(webhook)
        check_following(following, window, fail_on, webhook, metrics_port, readiness)
        engine = engine_for_names(place, with_spark) if anonymize else engine
        inputs, issues = _find(sources, config)
        if following:
            assert isinstance(place, Path)
            _follow(inputs, issues, _places(sources), place, master, name, verbose, address, metrics_port)
        else:
            outcome = _run(inputs, issues, place, engine, master, name, verbose, window, without, anonymize, readiness)
            if code := exit_code(outcome, fail_on, without):
                sys.exit(code)
    except click.ClickException:
        raise
    except KeyboardInterrupt:
        say("\nstopped early; no report was written")
        sys.exit(INTERRUPTED)
    except (ImportError, NoJavaError, NoSparkError) as error:
        raise click.ClickException(visible(plain(error, with_spark))) from None
    except Exception as error:  # Spark's failures have many types; the traceback goes to a file
        raise click.ClickException(f"{visible(plain(error, with_spark))}{kept(place)}") from None


def _find(sources: tuple[str, ...], config: Path | None) -> tuple[list[Source], list[Issue]]:
    with hidden_packages("hypothesis"):
        from kohort.client.security import OPEN, SecurityError, from_file
        from kohort.pipeline.sources.found import WIRE, find_sources

    try:
        security = from_file(config) if config is not None else OPEN
        if security.tls:
            security.context()  # report unusable certificates before anything starts
    except SecurityError as error:
        raise click.UsageError(f"--command-config {error}") from None
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
    with_readiness: bool,
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
        _prepare(out, following=False, with_spark=chosen == SPARK)
    with opened_engine(chosen, master, lambda: notes_folder(out)) as (worker, tasks):
        from kohort.pipeline.analysis.analysis_run import analyse

        move_costs: MoveCosts | None = None
        if with_readiness:
            from kohort.whatif.move import move_costs
        with progress(tasks) as show_progress:
            outcome = analyse(
                worker, inputs, issues, out, show_progress, name, window, anonymous=anonymous, move_costs=move_costs
            )
        print_findings(outcome, verbose, without)
    from kohort.pipeline.silver.read_sources import NOTHING_READ

    unread = [issue for issue in outcome.issues if issue["rule"] == NOTHING_READ]
    for row in unread:
        say(visible(f"! {row['keys']}: {row['detail']}"))
    if unread:
        sys.exit(1)
    return outcome


def _prepare(out: Path, following: bool, with_spark: bool) -> None:
    """Create the output folder.

    An analysis and what --follow has collected don't share one: each would read the other's rows as its own.
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
    collected = (out / "checkpoints").is_dir()
    if collected and not following:
        raise click.ClickException(f"--out {out}: contains data collected by --follow; name another folder")
    if following and not collected and (out / "tables" / "silver").is_dir():
        raise click.ClickException(f"--out {out}: contains an analysis made without --follow; name another folder")


def _places(sources: tuple[str, ...]) -> list[Path]:
    return [Path(source).absolute() for source in sources if Path(source).exists()]


def _follow(
    inputs: list[Source], issues: list[Issue], places: list[Path], out: Path, master: str | None, name: str,
    verbose: bool, webhook: str | None, metrics_port: int | None,
) -> None:  # fmt: skip
    from kohort.pipeline.sources.found import EVENTS, TEXT_LOG, WIRE

    clusters = [source for source in inputs if source.kind == WIRE]
    if len(clusters) != 1 or any(source.kind not in (WIRE, TEXT_LOG, EVENTS) for source in inputs):
        raise click.UsageError(
            "--follow requires one bootstrap address, as in `kohort analyze --follow HOST:9092`, and accepts only "
            "brokers' text logs and event logs in addition"
        )
    if issues:
        raise click.UsageError(f"{issues[0].keys}: {issues[0].detail}")
    if missing := [source.path for source in inputs if source.kind != WIRE and not Path(source.path).exists()]:
        raise click.UsageError(f"{missing[0]}: --follow accepts only files of this machine, in addition to the address")
    gc.enable()
    _prepare(out, following=True, with_spark=True)
    say("starting Spark …")
    from kohort.pipeline.session import is_connected, spark_session

    stopping: list[float] = []
    # Ctrl-C ends the loop between two polls, so that streams are stopped and a last report is written.
    previous_handlers = {number: _stop_on(number, stopping) for number in _ENDS}
    try:
        with spark_apart(out), _alerting(webhook) as notify, _measuring(metrics_port) as metrics:
            spark = spark_session(master)
            for number in _ENDS:  # again, because PySpark has replaced them
                _stop_on(number, stopping)
            try:
                from kohort.pipeline.job.follow import follow

                if is_connected(spark) and clusters[0].security.options:
                    say(_LOGIN_TRAVELS)
                files = [source for source in inputs if source.kind != WIRE]
                and_files = f" and {words(files)}" if files else ""
                say(f"following {clusters[0].path}{and_files}; Ctrl-C ends it")
                outcome = follow(
                    spark,
                    clusters[0].path,
                    out,
                    say,
                    lambda line: click.echo(visible(line)),
                    name,
                    until=lambda: bool(stopping),
                    security=clusters[0].security,
                    notify=notify,
                    places=places,
                    metrics=metrics,
                )
                if outcome is not None:
                    print_findings(outcome, verbose)
                spark.stop()
            except Exception:
                if not stopping:
                    spark.stop()
                    raise
                # A service manager ends all processes of a service at once, so Java may end before the streams do.
                say("stopped together with Spark; the last report is kept, and the same command continues from there")
    finally:
        for number, handler in previous_handlers.items():
            signal.signal(number, handler)


@contextmanager
def _alerting(url: str | None) -> Iterator[Callable[[Message], None]]:
    """Provide the function that receives alerts in addition to the terminal."""
    if url is None:
        yield lambda _: None
        return
    from kohort.pipeline.live.webhook import Webhook

    with Webhook(url, say) as hook:
        yield hook.add


@contextmanager
def _measuring(port: int | None) -> Iterator[FollowMetrics | None]:
    if port is None:
        yield None
        return
    from kohort.pipeline.live.follow_metrics import FollowMetrics, serving_metrics

    metrics = FollowMetrics()
    with ExitStack() as stack:
        try:
            bound_port = stack.enter_context(serving_metrics(port, metrics))
        except OSError as error:
            raise click.ClickException(f"--metrics-port {port}: {error.strerror or error}") from None
        say(f"metrics: http://localhost:{bound_port}/metrics")
        yield metrics


def _stop_on(number: signal.Signals, stopping: list[float]) -> Any:
    def stop(*_: Any) -> None:
        # A second signal means that the streams or the last report take too long; one that follows within
        # AGAIN_S is a repetition of the first.
        if stopping and time.monotonic() - stopping[0] >= AGAIN_S:
            raise KeyboardInterrupt
        stopping.append(time.monotonic())

    return signal.signal(number, stop)


if __name__ == "__main__":
    sys.exit(analyze())
