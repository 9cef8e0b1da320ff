"""`kohort follow`: watches the groups of a running cluster, prints alerts, and serves metrics."""

from __future__ import annotations

import gc
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kohort.base.lean_imports import without as hidden_packages
from kohort.base.visible import visible
from kohort.cli.analyze import find_inputs, prepare_folder
from kohort.cli.analyze_engine import LOCAL, SPARK, spark_apart
from kohort.cli.analyze_errors import one_line_errors
from kohort.cli.analyze_options import out_place, webhook_address
from kohort.cli.connecting import config_option
from kohort.pipeline.terminal import print_findings, say, words

if TYPE_CHECKING:
    from kohort.pipeline.live.follow_metrics import FollowMetrics
    from kohort.pipeline.live.webhook import Message
    from kohort.pipeline.sources.chunk import Issue
    from kohort.pipeline.sources.found import Source

_ENDS = (signal.SIGINT, signal.SIGTERM)
_LOGIN_TRAVELS = (
    "the login is sent to Spark's server as options of a source: its spark.redaction.regex decides whether its logs "
    "and pages show them (docs/how-to/clusters.md)"
)
AGAIN_S = 1.0
METRICS_PORT = 9464


@click.command("follow")
@click.argument("sources", nargs=-1, required=True, metavar="BOOTSTRAP [LOG…]")
@click.option(
    "--out", default="kohort-follow", show_default=True, metavar="FOLDER", help="Keep state and reports there."
)
@click.option(
    "--metrics-port",
    type=click.IntRange(0, 65_535),
    default=METRICS_PORT,
    show_default=True,
    metavar="PORT",
    help="Serve Prometheus metrics there (0: any free port).",
)
@click.option("--webhook", metavar="URL", help="Also post alerts there as JSON.")
@click.option(
    "--every", default="5m", show_default=True, metavar="LENGTH", help="Interval of reports on the last hour."
)
@click.option("--name", default="", help="Name of the Kafka cluster in reports.")
@config_option
@click.option(
    "--engine",
    type=click.Choice([LOCAL, SPARK]),
    default=LOCAL,
    show_default=True,
    help="local: this process, with reports on the last hour; spark: keep all tables, with reports on everything.",
)
@click.option(
    "--cluster", "master", metavar="URL", help="With --engine spark: a Spark master or Spark Connect address."
)
@click.option("--verbose", is_flag=True, help="Also print findings of severity info.")
def follow(
    sources: tuple[str, ...],
    out: str,
    metrics_port: int,
    webhook: str | None,
    every: str,
    name: str,
    config: Path | None,
    engine: str,
    master: str | None,
    verbose: bool,
) -> None:
    """Follow the groups of a cluster: alerts as they arise, metrics, and reports.

    BOOTSTRAP is the address of a cluster; LOG is a text log of a broker, an event log, or a folder of them, which may
    grow and be rotated. Alerts go to stdout, progress to stderr. If the cluster is unreachable, kohort waits for it.

    SIGUSR1 requests a report at once. Ctrl-C stops the command after a last report, a second Ctrl-C at once; the same
    command continues from there. Exit code 0: stopped; 1: it failed; 2: the command line is wrong; 130: stopped at
    once.
    """
    gc.enable()  # the command line runs without it
    place, with_spark = Path(out).absolute(), engine == SPARK
    with one_line_errors(out, with_spark):
        out_place(out, following=True)
        if master is not None and not with_spark:
            raise click.UsageError("--cluster requires --engine spark")
        address, every_s = webhook_address(webhook), _seconds(every)
        inputs, issues = find_inputs(sources, config)
        cluster, files = _checked(inputs, issues)
        if with_spark:
            _follow_with_spark(cluster, files, _places(sources), place, master, name, verbose, address, metrics_port)
        else:
            _follow_here(cluster, files, _places(sources), place, name, config, address, metrics_port, every_s)


def _seconds(length: str) -> float:
    from kohort.pipeline.sources.window import length_ms  # needs numpy

    try:
        return length_ms(length) / 1000
    except ValueError as error:
        raise click.UsageError(f"--every: {error}") from None


def _checked(inputs: list[Source], issues: list[Issue]) -> tuple[Source, list[Source]]:
    """Return the cluster and the files.

    Raises:
        click.UsageError: The sources are others than one cluster and files of this machine.
    """
    from kohort.pipeline.sources.found import EVENTS, TEXT_LOG, WIRE

    clusters = [source for source in inputs if source.kind == WIRE]
    if len(clusters) != 1 or any(source.kind not in (WIRE, TEXT_LOG, EVENTS) for source in inputs):
        raise click.UsageError(
            "expected one bootstrap address, as in `kohort follow HOST:9092`; in addition only brokers' text logs and "
            "event logs are accepted"
        )
    if issues:
        raise click.UsageError(f"{issues[0].keys}: {issues[0].detail}")
    files = [source for source in inputs if source.kind != WIRE]
    if missing := [source.path for source in files if not Path(source.path).exists()]:
        raise click.UsageError(f"{missing[0]}: only files of this machine are accepted, in addition to the address")
    return clusters[0], files


def _follow_here(
    cluster: Source, files: list[Source], places: list[Path], out: Path, name: str, config: Path | None,
    webhook: str | None, metrics_port: int, every_s: float,
) -> None:  # fmt: skip
    prepare_folder(out, following=True, with_spark=False)
    with hidden_packages("hypothesis", "pandas"):
        from kohort.pipeline.job.log_follower import follow_log
        from kohort.pipeline.job.report_process import ReportProcess, report_command

    stopping, requests = list[float](), list[int]()

    def report_requested() -> bool:
        requested = bool(requests)
        requests.clear()
        return requested

    reports = ReportProcess(report_command(cluster.path, places, out / "report", name, config), out / "report")
    previous_handler = signal.signal(signal.SIGUSR1, lambda number, _: requests.append(number))
    try:
        with _stopped_by_signals(stopping), _alerting(webhook) as notify, _measuring(metrics_port) as metrics:
            _say_sources(cluster, files)
            follow_log(
                cluster.path,
                out,
                reports,
                say,
                lambda line: click.echo(visible(line)),
                metrics,
                until=lambda: bool(stopping),
                report_requested=report_requested,
                security=cluster.security,
                notify=notify,
                places=places,
                every_s=every_s,
            )
    finally:
        signal.signal(signal.SIGUSR1, previous_handler)
    if (report := out / "report" / "report.html").exists():
        say(f"report: {report}")


def _say_sources(cluster: Source, files: list[Source]) -> None:
    and_files = f" and {words(files)}" if files else ""
    say(f"following {cluster.path}{and_files}; Ctrl-C ends it")


def _places(sources: tuple[str, ...]) -> list[Path]:
    return [Path(source).absolute() for source in sources if Path(source).exists()]


def _follow_with_spark(
    cluster: Source, files: list[Source], places: list[Path], out: Path, master: str | None, name: str,
    verbose: bool, webhook: str | None, metrics_port: int,
) -> None:  # fmt: skip
    import pyspark  # noqa: F401 - before anything starts, so that a missing extra is named

    prepare_folder(out, following=True, with_spark=True)
    say("starting Spark …")
    from kohort.pipeline.session import is_connected, spark_session

    stopping: list[float] = []
    # Ctrl-C ends the loop between two polls, so that streams are stopped and a last report is written.
    with (
        _stopped_by_signals(stopping),
        spark_apart(out),
        _alerting(webhook) as notify,
        _measuring(metrics_port) as metrics,
    ):
        spark = spark_session(master)
        for number in _ENDS:  # again, because PySpark has replaced them
            _stop_on(number, stopping)
        try:
            from kohort.pipeline.job.stream_follower import follow

            if is_connected(spark) and cluster.security.options:
                say(_LOGIN_TRAVELS)
            _say_sources(cluster, files)
            outcome = follow(
                spark,
                cluster.path,
                out,
                say,
                lambda line: click.echo(visible(line)),
                name,
                until=lambda: bool(stopping),
                security=cluster.security,
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


@contextmanager
def _stopped_by_signals(stopping: list[float]) -> Iterator[None]:
    previous_handlers = {number: _stop_on(number, stopping) for number in _ENDS}
    try:
        yield
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
def _measuring(port: int) -> Iterator[FollowMetrics]:
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
    sys.exit(follow())
