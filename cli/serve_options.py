"""The options of `kohort serve`, and their values as one."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any, NamedTuple

import click

from kohort.broker.settings.broker_settings import PROFILES
from kohort.protocol.releases import RELEASES

LOOPBACK = "127.0.0.1"
DEFAULT_LISTEN = f"{LOOPBACK}:9092"
FSYNC = ("never", "interval", "always")
_TEST_SETTINGS = [f"{name}={value}" for name, value in PROFILES["test"].items()]


class ServeOptions(NamedTuple):
    """What the command line says."""

    listen: str | None
    nodes: int
    advertise: str
    profile: str
    as_kafka: str | None
    assignments: tuple[str, ...]
    """NAME=VALUE, of --set."""
    secure: Path | None
    users: tuple[str, ...]
    """Those of --add-scram."""
    config: str | None
    data_dir: Path | None
    fsync: str
    restore_topics: bool
    event_log: Path | None
    control: str | None
    control_certificate: Path | None
    control_token: str
    control_names: tuple[str, ...]
    """Those of --control-host."""
    ready_file: Path | None
    log_format: str
    log_level: str


_OPTIONS = (
    click.option(
        "--listen",
        metavar="HOST:PORT",
        help="Where clients connect in plain text. Port 0: any free one. The setting listeners takes its place.  "
        f"[default: {DEFAULT_LISTEN}]",
    ),
    click.option("--nodes", default=1, show_default=True, type=click.IntRange(1, 100), help="On consecutive ports."),
    click.option(
        "--advertise",
        default="",
        metavar="HOST[:PORT],...",
        help="The address that clients get instead of the host they dialled: one for all, or one for each node. "
        "Without a PORT it is the one the node listens on; with one, for mapped ports, the next nodes have "
        "the next ports.",
    ),
    click.option(
        "--profile",
        type=click.Choice(sorted(PROFILES)),
        default="faithful",
        show_default=True,
        help="faithful: as Kafka 4.3. test: does not let a test wait, by " + ", ".join(_TEST_SETTINGS) + ".",
    ),
    click.option(
        "--as-kafka",
        type=click.Choice(RELEASES),
        help="Serve the API versions of that release of Kafka, with its defaults; as the setting kohort.as.kafka.",
    ),
    click.option(
        "--set", "assignments", multiple=True, metavar="NAME=VALUE", help="A setting; `kohort settings` lists them."
    ),
    click.option(
        "--secure",
        type=click.Path(path_type=Path, file_okay=False),
        metavar="DIR",
        help="Serve over SASL_SSL, with a throw-away authority and the users admin, alice and bob (alice-secret, …). "
        "DIR gets ca.pem, and for each user a file for --command-config, as alice.properties.",
    ),
    click.option(
        "--add-scram",
        "users",
        multiple=True,
        metavar="MECHANISM=[name=…,password=…]",
        help="A user who logs in by SCRAM, as with kafka-storage; repeatable. Kept in the data directory, "
        "if there is one.",
    ),
    click.option("--config", metavar="FILE", help="Settings, as in server.properties."),
    click.option(
        "--data-dir",
        type=click.Path(path_type=Path),
        metavar="DIR",
        help="Where to keep topics and groups, in Kafka's layout, so that they are there after a restart. Without it "
        "they are in memory.",
    ),
    click.option(
        "--fsync",
        type=click.Choice(FSYNC),
        default="never",
        show_default=True,
        help="When the data directory is synced. never: the system writes it when it likes to, as with Kafka's "
        "defaults, which survives the end of the process. interval: every log.flush.interval.ms. always: before "
        "anything is acknowledged.",
    ),
    click.option(
        "--restore-topics",
        is_flag=True,
        help="Make topics of the folders in the data directory, if its topics.jsonl is lost. Their settings are lost "
        "with it: they keep all records until retention.ms is set.",
    ),
    click.option(
        "--event-log",
        type=click.Path(path_type=Path),
        metavar="DIR",
        help="Where to write what happens to groups, as JSON lines; `kohort analyze DIR` reads it.",
    ),
    click.option(
        "--control",
        metavar="HOST:PORT",
        help="Serve HTTP there, for `kohort admin`, `ctl`, `watch` and a browser; a PORT alone: on this machine only. "
        "Off unless given.",
    ),
    click.option(
        "--control-certificate",
        type=click.Path(path_type=Path),
        metavar="FILE",
        help="A PEM file with a certificate and its key: HTTPS is served there instead.",
    ),
    click.option(
        "--control-token",
        default="",
        metavar="TOKEN",
        envvar="KOHORT_CONTROL_TOKEN",
        show_envvar=True,
        help="What must be shown there. Without one, nothing but this machine's own addresses may be listened on.",
    ),
    click.option(
        "--control-host",
        "control_names",
        multiple=True,
        metavar="NAME",
        envvar="KOHORT_CONTROL_HOST",
        show_envvar=True,
        help="A name that clients dial it by, beside localhost; repeatable. Requests for other names are refused.",
    ),
    click.option(
        "--ready-file",
        type=click.Path(path_type=Path, dir_okay=False),
        metavar="FILE",
        envvar="KOHORT_READY_FILE",
        show_envvar=True,
        help="Where the addresses that it listens on are written when it accepts, for `kohort health --ready-file`; "
        "removed at its end.",
    ),
    click.option("--log-format", type=click.Choice(["console", "json"]), default="console", show_default=True),
    click.option(
        "--log-level", type=click.Choice(["debug", "info", "warning", "error"]), default="info", show_default=True
    ),
)


def serve_options(command: Callable[[ServeOptions], None]) -> Callable[..., None]:
    """Gives a command of click's its options, as one value."""

    @wraps(command)
    def with_options(**given: Any) -> None:
        command(ServeOptions(**given))

    decorated: Callable[..., None] = with_options
    for option in reversed(_OPTIONS):
        decorated = option(decorated)
    return decorated
