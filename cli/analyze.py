"""`kohort analyze`: the answer to an incident, from one command."""

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

from kohort.cli.analyze_engine import SPARK, checked_engine, chosen_engine, opened_engine, spark_apart
from kohort.cli.analyze_errors import kept, plain
from kohort.cli.analyze_options import exit_code, notes_folder, out_place, webhook_address, window_of
from kohort.cli.connecting import config_option
from kohort.cli.early_end import INTERRUPTED
from kohort.pipeline.java import NoJavaError
from kohort.pipeline.session import NoSparkError
from kohort.pipeline.terminal import print_findings, progress, say, words
from kohort.protocol.visible import visible

if TYPE_CHECKING:
    from kohort.pipeline.analysis.analysis_run import Outcome
    from kohort.pipeline.live.follow_metrics import FollowMetrics
    from kohort.pipeline.live.webhook import Message
    from kohort.pipeline.remote_path import Place
    from kohort.pipeline.sources.chunk import Issue
    from kohort.pipeline.sources.found import Source
    from kohort.pipeline.sources.window import Window

_ENDS = (signal.SIGINT, signal.SIGTERM)
_LOGIN_TRAVELS = (
    "the login goes to Spark's server as options of a source: its spark.redaction.regex decides whether its logs and "
    "pages show them (docs/clusters.md)"
)
AGAIN_S = 1.0


@click.command("analyze")
@click.argument("sources", nargs=-1, required=True, metavar="SOURCE…")
@click.option(
    "--out",
    default="kohort-analysis",
    show_default=True,
    metavar="FOLDER",
    help="Where tables, findings.json and report.html go: a folder, or s3://…, abfss://…, gs://…, hdfs://….",
)
@click.option(
    "--cluster",
    "master",
    metavar="URL",
    help="A Spark master (spark://…, yarn, local[2]) or Spark Connect address (sc://…), whose workers see the same "
    "files; this machine if left out.",
)
@click.option(
    "--engine",
    type=click.Choice(["auto", "local", "spark"]),
    default="auto",
    show_default=True,
    help="Who does the work: this process (local), which is done with a few million records before Spark has started, "
    "or Spark; auto goes by how much there is. --cluster and --follow take Spark.",
)
@click.option("--name", default="", help="Name of the Kafka cluster, first column of every table.")
@config_option
@click.option("--follow", "following", is_flag=True, help="Keep reading a cluster, and say what happens as it happens.")
@click.option("--since", metavar="MOMENT", help="Leave out what was over before: 2026-05-31T14:00, or 14:00 of today.")
@click.option("--until", metavar="MOMENT", help="Leave out what came later.")
@click.option("--last", metavar="LENGTH", help="Only the last 30m, 2h, 1d.")
@click.option(
    "--group",
    "groups",
    multiple=True,
    metavar="NAME",
    help="Only this group, or those of a pattern like 'orders-*'; again for more.",
)
@click.option(
    "--fail-on",
    type=click.Choice(["warning", "critical"]),
    help="For CI: exit code 3 when something so grave was found, 4 when it can't be told, as not everything was "
    "given or read.",
)
@click.option(
    "--without",
    type=click.Choice(["offsets-topic", "log-ends", "broker-log", "share-state", "share-events"]),
    multiple=True,
    help="This source is missing, and that is known: what it alone would show is not asked for. Again for more.",
)
@click.option("--webhook", metavar="URL", help="With --follow: post alerts there as JSON too.")
@click.option(
    "--metrics-port",
    type=click.IntRange(0, 65_535),
    metavar="PORT",
    help="With --follow: Prometheus metrics there (0: any).",
)
@click.option("--verbose", is_flag=True, help="Information on the terminal too, not only warnings.")
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
    webhook: str | None,
    metrics_port: int | None,
    verbose: bool,
) -> None:
    """Why did my groups rebalance, who caused it, what did it cost, what should I change?

    SOURCE: a bootstrap address, a data directory, segment files of __consumer_offsets and __share_group_state, exports,
    a broker's text log, an event log, samples of log ends; several together; also in a store: s3://backups/broker-1/.

    With --follow, SOURCE is one bootstrap address, and brokers' text logs and event logs, or folders of them, as they
    grow and are rotated: alerts are printed as they arise, tables grow, the report is made anew every minute. Ctrl-C
    ends it with a last report, a second Ctrl-C at once; the same command goes on from there.

    Findings go to stdout, progress to stderr. Exit code 0: analysed, whatever was found; 1: it could not be, or nothing
    in one of the sources was understood; 2: the command was given wrongly; 3: --fail-on, and found; 4: --fail-on, and
    it can't be told; 130: interrupted.
    """  # fmt: skip
    place: Place = Path(out)
    with_spark = checked_engine(engine, master, following)
    try:
        place = out_place(out, following)
        window, address = window_of(since, until, last, groups), webhook_address(webhook)
        if following and (not window.is_everything or fail_on is not None):
            raise click.UsageError(
                "--follow takes everything as it comes: no --since, --until, --last, --group, --fail-on"
            )
        for option, value in (("--webhook", webhook), ("--metrics-port", metrics_port)):
            if value is not None and not following:
                raise click.UsageError(f"{option} goes with --follow")
        found, issues = _find(sources, config)
        if following:
            assert isinstance(place, Path)
            _follow(found, issues, _places(sources), place, master, name, verbose, address, metrics_port)
        else:
            outcome = _run(found, issues, place, engine, master, name, verbose, window, without)
            if code := exit_code(outcome, fail_on, without):
                sys.exit(code)
    except click.ClickException:
        raise
    except KeyboardInterrupt:
        say("\nstopped before the end: there is no report of this run")
        sys.exit(INTERRUPTED)
    except (ImportError, NoJavaError, NoSparkError) as error:
        raise click.ClickException(visible(plain(error, with_spark))) from None
    except Exception as error:  # Spark's failures have many types; a person gets a sentence, and the whole in a file
        raise click.ClickException(f"{visible(plain(error, with_spark))}{kept(place)}") from None


def _find(sources: tuple[str, ...], config: Path | None) -> tuple[list[Source], list[Issue]]:
    from kohort.client.security import OPEN, SecurityError, from_file
    from kohort.pipeline.sources.found import WIRE, find_sources

    try:
        security = from_file(config) if config is not None else OPEN
        if security.tls:
            security.context()  # certificates that can't be used are better found out now
    except SecurityError as error:
        raise click.UsageError(f"--command-config {error}") from None
    found, issues = find_sources(sources, security)
    given = click.get_current_context().get_parameter_source("config") is ParameterSource.COMMANDLINE
    if given and not any(source.kind == WIRE for source in found):
        say("--command-config is for addresses, and none is among the sources: not used")
    return found, issues


def _run(
    found: list[Source],
    issues: list[Issue],
    out: Place,
    engine: str,
    master: str | None,
    name: str,
    verbose: bool,
    window: Window,
    without: Collection[str],
) -> Outcome:
    gc.enable()  # the command line runs without; an analysis lives long enough to need it
    for issue in issues:
        say(f"{issue.keys}: {issue.detail}")
    from kohort.pipeline.silver.read_sources import expand

    found, problems = expand(found)
    for issue in problems:
        say(issue.detail)
    issues += problems
    if not found:
        raise click.ClickException("nothing to analyse: none of the sources can be read")
    say(f"sources: {words(found)}")
    chosen = chosen_engine(engine, master, found)
    if isinstance(out, Path):
        _prepare(out, following=False, with_spark=chosen == SPARK)
    with opened_engine(chosen, master, lambda: notes_folder(out)) as (worker, tasks):
        from kohort.pipeline.analysis.analysis_run import analyse

        with progress(tasks) as show_progress:
            outcome = analyse(worker, found, issues, out, show_progress, name, window)
        print_findings(outcome, verbose, without)
    from kohort.pipeline.silver.read_sources import NOTHING_READ

    unread = [issue for issue in outcome.issues if issue["rule"] == NOTHING_READ]
    for each in unread:
        say(visible(f"! {each['keys']}: {each['detail']}"))
    if unread:
        sys.exit(1)
    return outcome


def _prepare(out: Path, following: bool, with_spark: bool) -> None:
    """Makes the output folder. An analysis and what --follow has collected don't share one: each would take the other's
    rows for its own."""
    try:
        out.mkdir(parents=True, exist_ok=True)
        if with_spark:
            with open(out / "spark.log", "ab"):
                pass
    except (FileExistsError, NotADirectoryError):
        raise click.ClickException(f"--out {out}: that is a file, not a folder") from None
    except OSError as error:
        raise click.ClickException(f"--out {out}: can't be written ({error.strerror}); name another folder") from None
    collected = (out / "checkpoints").is_dir()
    if collected and not following:
        raise click.ClickException(f"--out {out}: holds what --follow collected there; name another folder")
    if following and not collected and (out / "tables" / "silver").is_dir():
        raise click.ClickException(f"--out {out}: holds an analysis made without --follow; name another folder")


def _places(sources: tuple[str, ...]) -> list[Path]:
    """The files and folders among the sources."""
    return [Path(each).absolute() for each in sources if Path(each).exists()]


def _follow(
    found: list[Source], issues: list[Issue], places: list[Path], out: Path, master: str | None, name: str,
    verbose: bool, webhook: str | None, metrics_port: int | None,
) -> None:  # fmt: skip
    from kohort.pipeline.sources.found import EVENTS, TEXT_LOG, WIRE

    clusters = [source for source in found if source.kind == WIRE]
    if len(clusters) != 1 or any(source.kind not in (WIRE, TEXT_LOG, EVENTS) for source in found):
        raise click.UsageError(
            "--follow wants one bootstrap address, as in `kohort analyze --follow HOST:9092`, and takes brokers' text "
            "logs and event logs beside it"
        )
    if issues:
        raise click.UsageError(f"{issues[0].keys}: {issues[0].detail}")
    if away := [source.path for source in found if source.kind != WIRE and not Path(source.path).exists()]:
        raise click.UsageError(f"{away[0]}: --follow takes files and folders of this machine beside the address")
    gc.enable()
    _prepare(out, following=True, with_spark=True)
    say("starting Spark …")
    from kohort.pipeline.session import is_connected, spark_session

    stopping: list[float] = []
    # Ctrl-C ends the loop between two looks, so that streams are stopped and the report is made once more.
    before = {number: _stop_on(number, stopping) for number in _ENDS}
    try:
        with spark_apart(out), _alerting(webhook) as notify, _measuring(metrics_port) as metrics:
            spark = spark_session(master)
            for number in _ENDS:  # again: PySpark has put a handler of its own in their place
                _stop_on(number, stopping)
            try:
                from kohort.pipeline.job.follow import follow

                if is_connected(spark) and clusters[0].security.options:
                    say(_LOGIN_TRAVELS)
                files = [source for source in found if source.kind != WIRE]
                beside = f" and {words(files)}" if files else ""
                say(f"following {clusters[0].path}{beside}; Ctrl-C ends it")
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
                # Whoever ends a service ends all its processes at once, and Java may be gone before the streams are.
                say("stopped together with Spark: the last report stays; the same command goes on from there")
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def _alerting(url: str | None) -> Iterator[Callable[[Message], None]]:
    """What to do with alerts beside printing them."""
    if url is None:
        yield lambda _: None
        return
    from kohort.pipeline.live.webhook import Webhook

    with Webhook(url, say) as hook:
        yield hook.add


@contextmanager
def _measuring(port: int | None) -> Iterator[FollowMetrics | None]:
    """Serves metrics where they are asked for."""
    if port is None:
        yield None
        return
    from kohort.pipeline.live.follow_metrics import FollowMetrics, serving_metrics

    metrics = FollowMetrics()
    with ExitStack() as stack:
        try:
            found = stack.enter_context(serving_metrics(port, metrics))
        except OSError as error:
            raise click.ClickException(f"--metrics-port {port}: {error.strerror or error}") from None
        say(f"metrics: http://localhost:{found}/metrics")
        yield metrics


def _stop_on(number: signal.Signals, stopping: list[float]) -> Any:
    def stop(*_: Any) -> None:
        # Asked again: the streams or the last report take too long. What asks at once twice means it once.
        if stopping and time.monotonic() - stopping[0] >= AGAIN_S:
            raise KeyboardInterrupt
        stopping.append(time.monotonic())

    return signal.signal(number, stop)


if __name__ == "__main__":
    sys.exit(analyze())
