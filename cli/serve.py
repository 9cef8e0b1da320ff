"""`kohort serve`: a broker, until it is stopped."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, NoReturn

import click

from kohort.broker.address import HIGHEST_PORT, AddressError, parse_address, parse_advertised, show_address
from kohort.broker.control_token import TokenError, checked
from kohort.broker.lean_imports import without
from kohort.broker.runtime.listener import Entrances, PlainEntrance
from kohort.broker.settings.broker_settings import PROFILES, SettingError, Settings
from kohort.cli.saying import say
from kohort.protocol.releases import RELEASES

if TYPE_CHECKING:
    from kohort.control.listening import Control

STDERR = 2
LOOPBACK = "127.0.0.1"
DEFAULT_LISTEN = f"{LOOPBACK}:9092"
FSYNC = ("never", "interval", "always")
_TEST_SETTINGS = [f"{name}={value}" for name, value in PROFILES["test"].items()]


@click.command()
@click.option(
    "--listen",
    metavar="HOST:PORT",
    help="Where clients connect in plain text. Port 0: any free one. The setting listeners takes its place.  [default: "
    f"{DEFAULT_LISTEN}]",
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
    "--as-kafka",
    type=click.Choice(RELEASES),
    help="Serve the API versions of that release of Kafka, with its defaults; as the setting kohort.as.kafka.",
)
@click.option(
    "--set", "assignments", multiple=True, metavar="NAME=VALUE", help="A setting; `kohort settings` lists them."
)
@click.option(
    "--secure",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="Serve over SASL_SSL, with a throw-away authority and the users admin, alice and bob (alice-secret, …). "
    "DIR gets ca.pem, and for each user a file for --command-config, as alice.properties.",
)
@click.option(
    "--add-scram",
    "users",
    multiple=True,
    metavar="MECHANISM=[name=…,password=…]",
    help="A user who logs in by SCRAM, as with kafka-storage; repeatable. Kept in the data directory, if there is one.",
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
    help="Serve HTTP there, for `kohort admin`, `ctl`, `watch` and a browser; a PORT alone: on this machine only. "
    "Off unless given.",
)
@click.option(
    "--control-certificate",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="A PEM file with a certificate and its key: HTTPS is served there instead.",
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
    listen: str | None,
    nodes: int,
    advertise: str,
    profile: str,
    as_kafka: str | None,
    assignments: tuple[str, ...],
    secure: Path | None,
    users: tuple[str, ...],
    config: str | None,
    data_dir: Path | None,
    fsync: str,
    restore_topics: bool,
    event_log: Path | None,
    control: str | None,
    control_certificate: Path | None,
    control_token: str,
    control_names: tuple[str, ...],
    log_format: str,
    log_level: str,
) -> None:
    """Run a broker, or with --nodes a cluster of them, until SIGINT or SIGTERM.

    When every node accepts, one line goes to stdout: READY bootstrap=HOST:PORT[,HOST:PORT...], and behind that
    listeners=NAME://HOST:PORT[,HOST:PORT...],... if there are several, and control=HOST:PORT if --control is given.
    Logs go to stderr.

    Of settings the later counts: Kafka's defaults, the profile, --config, --set. The copies of __consumer_offsets
    are as many as there are nodes, up to Kafka's 3, unless offsets.topic.replication.factor is set.
    """
    if as_kafka is not None:
        assignments = (f"kohort.as.kafka={as_kafka}", *assignments)
    try:
        given = read_settings(config, assignments)
        if secure is not None:
            secured = secured_in(secure, given, listen or DEFAULT_LISTEN)
            given, users, listen = given | secured.settings, (*secured.users, *users), None
        settings = Settings(given, profile, nodes)
        entrances = entrances_of(settings, listen, advertise, nodes, users)
        controlled = None if control is None else control_at(control, control_token, control_names, control_certificate)
    except (AddressError, SettingError, TokenError) as problem:
        refuse(str(problem))
    if data_dir is None:
        refuse_in_memory(fsync, restore_topics)

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
        run(settings, entrances, nodes, controlled, Places(event_log, data_dir, fsync, restore_topics))
    except (ListenError, EventLogError, DataDirectoryError) as problem:
        sentence = str(problem)
    finally:
        log.close()
    if sentence:
        refuse(sentence)


def refuse_in_memory(fsync: str, restore_topics: bool) -> None:
    """Refuses what only a data directory gives a meaning."""
    if fsync != "never":
        refuse(f"--fsync {fsync} syncs nothing while everything is in memory; name a directory with --data-dir")
    if restore_topics:
        refuse("--restore-topics restores nothing while everything is in memory; name a directory with --data-dir")


class SecuredFolder(NamedTuple):
    """What `--secure` adds to the settings, and who can log in."""

    settings: dict[str, str]
    users: tuple[str, ...]


def secured_in(folder: Path, given: Mapping[str, str], listen: str) -> SecuredFolder:
    """Writes certificates and clients' files to a folder. Raises AddressError, SettingError."""
    from kohort.control.control_errors import ControlError
    from kohort.testing.secured import Secured

    if given.get("listeners"):
        raise SettingError("--secure and listeners both say where clients connect; give one of them")
    host, port = parse_address(listen)
    try:
        made = Secured("SASL_SSL", folder)
        made.write_properties()
    except ControlError as problem:
        raise SettingError(str(problem).replace("security='SASL_SSL'", "--secure")) from None
    except OSError as problem:
        raise SettingError(f"--secure {folder}: {problem.strerror}") from None
    settings = made.settings(show_address(host, port), given.get("authorizer.class.name", ""))
    return SecuredFolder(settings, tuple(made.new_users))


def entrances_of(settings: Settings, listen: str | None, advertise: str, nodes: int, users: Sequence[str]) -> Entrances:
    """Where clients come in, as the command line or the settings say. Raises AddressError, SettingError."""
    if settings.listeners or settings.advertised_listeners:
        for option, given in (("--listen", listen), ("--advertise", advertise)):
            if given:
                raise SettingError(f"{option} and listeners both say where clients connect; give one of them")
        with without("hypothesis"):
            from kohort.broker.runtime.securing import Securing

        return Securing(settings, nodes, time.time(), users)
    if users:
        raise SettingError("--add-scram adds nobody who could log in while listeners is not set")
    host, port = parse_address(listen or DEFAULT_LISTEN)
    if port and port + nodes - 1 > HIGHEST_PORT:
        raise AddressError(f"{nodes} nodes from port {port} on need ports beyond {HIGHEST_PORT}; choose a lower one")
    return PlainEntrance(host, port, parse_advertised(advertise, nodes))


def control_at(where: str, token: str, names: tuple[str, ...], certificate: Path | None) -> Control:
    """The control address; what serves it is loaded only when somebody wants it. Raises AddressError, TokenError."""
    host, port = parse_address(f"{LOOPBACK}:{where.removeprefix(':')}" if where.lstrip(":").isdigit() else where)
    try:
        from kohort.control.listening import Control
    except ModuleNotFoundError as missing:
        refuse(f"--control needs {missing.name}, which is not installed; pip install 'kohort[control]' brings it")
    from kohort.broker.runtime.server import ListenError

    try:
        return Control(host, port, checked(token), names, certificate)
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
