"""`kohort serve`: a broker, until it is stopped."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import click

from kohort.broker.address import HIGHEST_PORT, AddressError, parse_address, parse_advertised
from kohort.broker.control_token import TokenError, checked
from kohort.broker.lean_imports import without
from kohort.broker.settings.broker_settings import PROFILES, SettingError, Settings
from kohort.cli.saying import say

if TYPE_CHECKING:
    from kohort.control.listening import Control

STDERR = 2
LOOPBACK = "127.0.0.1"
FSYNC = ("never", "interval", "always")
_TEST_SETTINGS = [f"{name}={value}" for name, value in PROFILES["test"].items()]


@click.command()
@click.option(
    "--listen", default="127.0.0.1:9092", show_default=True, metavar="HOST:PORT", help="Port 0: any free one."
)
@click.option("--nodes", default=1, show_default=True, type=click.IntRange(1, 100), help="On consecutive ports.")
@click.option(
    "--advertise",
    default="",
    metavar="HOST[:PORT],...",
    help="The address that clients get instead of the host they dialled: one for all, or one for each node. Without a "
    "PORT it is the one the node listens on; with one, for mapped ports, the next nodes have the next ports.",
)
@click.option(
    "--profile",
    type=click.Choice(sorted(PROFILES)),
    default="faithful",
    show_default=True,
    help="faithful: as Kafka 4.3. test: does not let a test wait, by " + ", ".join(_TEST_SETTINGS) + ".",
)
@click.option(
    "--set", "assignments", multiple=True, metavar="NAME=VALUE", help="A setting; `kohort settings` lists them."
)
@click.option("--config", metavar="FILE", help="Settings, as in server.properties.")
@click.option(
    "--data-dir",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Where to keep topics and groups, in Kafka's layout, so that they are there after a restart. Without it they "
    "are in memory.",
)
@click.option(
    "--fsync",
    type=click.Choice(FSYNC),
    default="never",
    show_default=True,
    help="When the data directory is synced. never: the system writes it when it likes to, as with Kafka's defaults, "
    "which survives the end of the process. interval: every log.flush.interval.ms. always: before anything is "
    "acknowledged.",
)
@click.option(
    "--restore-topics",
    is_flag=True,
    help="Make topics of the folders in the data directory, if its topics.jsonl is lost. Their settings are lost with "
    "it: they keep all records until retention.ms is set.",
)
@click.option(
    "--event-log",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Where to write what happens to groups, as JSON lines; `kohort analyze DIR` reads it.",
)
@click.option(
    "--control",
    metavar="HOST:PORT",
    help="Serve HTTP there for `kohort admin`; a PORT alone: on this machine only. Off unless given.",
)
@click.option(
    "--control-token",
    default="",
    metavar="TOKEN",
    envvar="KOHORT_CONTROL_TOKEN",
    show_envvar=True,
    help="What must be shown there. Without one, nothing but this machine's own addresses may be listened on.",
)
@click.option(
    "--control-host",
    "control_names",
    multiple=True,
    metavar="NAME",
    envvar="KOHORT_CONTROL_HOST",
    show_envvar=True,
    help="A name that clients dial it by, beside localhost; repeatable. Requests for other names are refused.",
)
@click.option("--log-format", type=click.Choice(["console", "json"]), default="console", show_default=True)
@click.option(
    "--log-level", type=click.Choice(["debug", "info", "warning", "error"]), default="info", show_default=True
)
def serve(
    listen: str,
    nodes: int,
    advertise: str,
    profile: str,
    assignments: tuple[str, ...],
    config: str | None,
    data_dir: Path | None,
    fsync: str,
    restore_topics: bool,
    event_log: Path | None,
    control: str | None,
    control_token: str,
    control_names: tuple[str, ...],
    log_format: str,
    log_level: str,
) -> None:
    """Run a broker, or with --nodes a cluster of them, until SIGINT or SIGTERM.

    When every node accepts, one line goes to stdout: READY bootstrap=HOST:PORT[,HOST:PORT...], and behind that
    control=HOST:PORT if --control is given. Logs go to stderr.

    Of settings the later counts: Kafka's defaults, the profile, --config, --set. The copies of __consumer_offsets
    are as many as there are nodes, up to Kafka's 3, unless offsets.topic.replication.factor is set.
    """
    try:
        host, port = parse_address(listen)
        advertised = parse_advertised(advertise, nodes)
        settings = Settings(read_settings(config, assignments), profile, nodes)
        if port and port + nodes - 1 > HIGHEST_PORT:
            raise AddressError(
                f"{nodes} nodes from port {port} on need ports beyond {HIGHEST_PORT}; choose a lower one"
            )
        controlled = None if control is None else control_at(control, control_token, control_names)
    except (AddressError, SettingError, TokenError) as problem:
        refuse(str(problem))
    if data_dir is None and fsync != "never":
        refuse(f"--fsync {fsync} syncs nothing while everything is in memory; name a directory with --data-dir")
    if data_dir is None and restore_topics:
        refuse("--restore-topics restores nothing while everything is in memory; name a directory with --data-dir")

    # Loaded only now: a mistake in the line above is reported at once.
    with without("hypothesis"):
        from kohort.broker.cluster.group_events import EventLogError
        from kohort.broker.line_writer import LineWriter
        from kohort.broker.logs import log
        from kohort.broker.runtime.run import Places, run
        from kohort.broker.runtime.server import ListenError
        from kohort.storage.disk.ownership import DataDirectoryError

    log.configure(level=log_level, json=log_format == "json", writer=LineWriter(STDERR))
    sentence = ""
    try:
        run(settings, host, port, nodes, advertised, controlled, Places(event_log, data_dir, fsync, restore_topics))
    except (ListenError, EventLogError, DataDirectoryError) as problem:
        sentence = str(problem)
    finally:
        log.close()
    if sentence:
        refuse(sentence)


def control_at(where: str, token: str, names: tuple[str, ...]) -> Control:
    """The control address; what serves it is loaded only when somebody wants it. Raises AddressError, TokenError."""
    host, port = parse_address(f"{LOOPBACK}:{where.removeprefix(':')}" if where.lstrip(":").isdigit() else where)
    try:
        from kohort.control.listening import Control
    except ModuleNotFoundError as missing:
        refuse(f"--control needs {missing.name}, which is not installed; pip install 'kohort[control]' brings it")
    from kohort.broker.runtime.server import ListenError

    try:
        return Control(host, port, checked(token), names)
    except ListenError as problem:
        refuse(str(problem))


def read_settings(config: str | None, assignments: tuple[str, ...]) -> dict[str, str]:
    """What the file and then the command line set. Raises SettingError for what is no setting at all."""
    given: dict[str, str] = {}
    if config is not None:
        import javaproperties

        try:
            with open(config, encoding="utf-8") as file:
                given |= javaproperties.load(file)
        except OSError as problem:
            raise SettingError(f"cannot read {config}: {problem.strerror}; --config wants a file of settings") from None
        except javaproperties.InvalidUEscapeError as problem:
            raise SettingError(f"{config}: {problem.escape} is no character; write \\u and four digits") from None
        except UnicodeDecodeError:
            raise SettingError(f"{config} is not text; --config wants lines of NAME=VALUE") from None
    for assignment in assignments:
        name, equals, value = assignment.partition("=")
        if not equals or not name.strip():
            raise SettingError(f"--set {assignment} sets nothing; write --set NAME=VALUE")
        given[name.strip()] = value.strip()
    return given


def refuse(sentence: str) -> NoReturn:
    """Says why not, and ends with exit code 2."""
    say(f"kohort: {sentence}", err=True)
    sys.exit(2)
