"""Options of `kohort serve` and their values, without click, which would take a fifteenth of the start."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum
from typing import TYPE_CHECKING, Any, NamedTuple

from kohort.base.address import LOOPBACK
from kohort.broker.settings.broker_settings import PROFILES
from kohort.protocol.releases import CURRENT, RELEASES

if TYPE_CHECKING:
    from pathlib import Path

DEFAULT_LISTEN = f"{LOOPBACK}:9092"
FSYNC = ("never", "interval", "always")
_TEST_SETTINGS = [f"{name}={value}" for name, value in PROFILES["test"].items()]


class ServeOptions(NamedTuple):
    """Values of the options of `kohort serve`."""

    listen: str | None
    topics: tuple[str, ...]  # of --topic
    nodes: int
    advertise: str
    profile: str
    as_kafka: str | None
    assignments: tuple[str, ...]  # NAME=VALUE, of --set
    secure: Path | None
    users: tuple[str, ...]  # of --add-scram
    config: str | None
    kafka_environment: bool
    data_dir: Path | None
    fsync: str
    restore_topics: bool
    event_log: Path | None
    control: str | None
    control_certificate: Path | None
    control_token: str
    control_names: tuple[str, ...]  # of --control-host
    ready_file: Path | None
    log_format: str
    log_level: str


class Place(Enum):
    """Type of file that the path of an option may name."""

    ANY = 0
    FILE = 1
    DIRECTORY = 2


class Option(NamedTuple):
    """Option of `kohort serve`: name, allowed values and help. Without further fields its value is a text."""

    name: str
    help: str = ""
    metavar: str | None = None
    default: str | int | None = None  # None and the empty text are not shown by --help
    field: str = ""  # field of ServeOptions, if it is not named as the option
    choices: Sequence[str] = ()
    numbers: range | None = None
    path: Place | None = None
    is_flag: bool = False
    multiple: bool = False
    variable: str | None = None  # environment variable that is used if the option is not given

    @property
    def attribute(self) -> str:
        return self.field or self.name.removeprefix("--").replace("-", "_")


OPTIONS = (
    Option(
        "--listen",
        metavar="[HOST:]PORT",
        help="Address for clients, in plain text; a PORT alone: on this machine only. Port 0: any free one. The "
        f"setting listeners replaces it.  [default: {DEFAULT_LISTEN}]",
    ),
    Option(
        "--topic",
        field="topics",
        multiple=True,
        metavar="NAME[:PARTITIONS][:SETTING=VALUE]...",
        variable="KOHORT_TOPICS",
        help="A topic to create at start, as in orders:6 or audit:1:cleanup.policy=compact; repeatable, and separated "
        "by spaces in the variable. An existing topic stays as it is.",
    ),
    Option("--nodes", default=1, numbers=range(1, 101), help="Number of nodes, on consecutive ports."),
    Option(
        "--advertise",
        default="",
        metavar="HOST[:PORT],...",
        help="The address that clients receive instead of the host they dialled: one for all, or one for each node. "
        "Without a PORT it is the one the node listens on; with one, for mapped ports, the next nodes get "
        "the next ports.",
    ),
    Option(
        "--profile",
        choices=tuple(sorted(PROFILES)),
        default="faithful",
        help="faithful: as Kafka. test: every delay as short as possible: " + ", ".join(_TEST_SETTINGS) + ".",
    ),
    Option(
        "--as-kafka",
        choices=RELEASES,
        help=f"Behave like that release of Kafka: its API versions, defaults and rules; {CURRENT} unless given. Same "
        "as the setting kohort.as.kafka.",
    ),
    Option(
        "--set",
        field="assignments",
        multiple=True,
        metavar="NAME=VALUE",
        help="A setting; `kohort settings` lists them.",
    ),
    Option(
        "--secure",
        path=Place.DIRECTORY,
        metavar="DIR",
        help="Serve over SASL_SSL, with a temporary authority and the users admin, alice and bob (alice-secret, …). "
        "Writes ca.pem to DIR, and for each user a file for --command-config, such as alice.properties.",
    ),
    Option(
        "--add-scram",
        field="users",
        multiple=True,
        metavar="MECHANISM=[name=…,password=…]",
        help="A user who logs in with SCRAM, as with kafka-storage; repeatable. Stored in the data directory, "
        "if there is one.",
    ),
    Option(
        "--config", metavar="FILE", help="Settings, as in server.properties, or KAFKA_ variables, as in an env file."
    ),
    Option(
        "--kafka-environment",
        is_flag=True,
        variable="KOHORT_KAFKA_ENVIRONMENT",
        help="Take settings from environment variables, as images of Kafka do: num.partitions from "
        "KAFKA_NUM_PARTITIONS or KAFKA_CFG_NUM_PARTITIONS. Without an address in --listen or in a setting, listen on "
        "all addresses of the machine. The container image sets this.",
    ),
    Option(
        "--data-dir",
        path=Place.ANY,
        metavar="DIR",
        variable="KOHORT_DATA_DIR",
        help="Store topics and groups there, in Kafka's layout, so that they survive a restart. Without it "
        "they are in memory.",
    ),
    Option(
        "--fsync",
        choices=FSYNC,
        default="never",
        help="When the data directory is synced. never: the operating system decides, as with Kafka's "
        "defaults, which survives a crash of the process. interval: every log.flush.interval.ms. always: before "
        "anything is acknowledged.",
    ),
    Option(
        "--restore-topics",
        is_flag=True,
        help="Create topics from the folders in the data directory, if its topics.jsonl is lost. Their settings are "
        "lost with it: they keep all records until retention.ms is set.",
    ),
    Option(
        "--event-log",
        path=Place.ANY,
        metavar="DIR",
        help="Write the events of groups there as JSON lines; `kohort analyze DIR` reads them.",
    ),
    Option(
        "--control",
        metavar="[HOST:]PORT",
        help="Serve HTTP there, for `kohort admin`, `ctl`, `watch` and a browser; a PORT alone: on this machine only. "
        "Off by default.",
    ),
    Option(
        "--control-certificate",
        path=Place.ANY,
        metavar="FILE",
        help="A PEM file with a certificate and its key, to serve HTTPS instead.",
    ),
    Option(
        "--control-token",
        default="",
        metavar="TOKEN",
        variable="KOHORT_CONTROL_TOKEN",
        help="Token that requests to the control address must send. Without one it must be a loopback address.",
    ),
    Option(
        "--control-host",
        field="control_names",
        multiple=True,
        metavar="NAME",
        variable="KOHORT_CONTROL_HOST",
        help="A name by which clients address it, in addition to localhost; repeatable. Other names are rejected.",
    ),
    Option(
        "--ready-file",
        path=Place.FILE,
        metavar="FILE",
        variable="KOHORT_READY_FILE",
        help="Write the listening addresses there when connections are accepted, for `kohort health --ready-file`; "
        "removed at shutdown.",
    ),
    Option("--log-format", choices=("console", "json"), default="console"),
    Option("--log-level", choices=("debug", "info", "warning", "error"), default="info"),
)

_BY_NAME = {option.name: option for option in OPTIONS}


def read_at_a_glance(arguments: Sequence[str], environment: Mapping[str, str]) -> ServeOptions | None:
    """Parse the arguments of `kohort serve` if they are pairs of a name and a valid value.

    Returns:
        None if click must parse them: for help, mistakes, flags, paths and environment variables.
    """
    if len(arguments) % 2 or any(environment.get(option.variable) for option in OPTIONS if option.variable):
        return None
    values: dict[str, Any] = {option.attribute: _unless_given(option) for option in OPTIONS}
    for name, text in zip(arguments[::2], arguments[1::2], strict=True):
        option = _BY_NAME.get(name)
        if option is None or not _is_plain(option, text):
            return None
        previous = values[option.attribute]
        values[option.attribute] = (
            (*previous, text) if option.multiple else text if option.numbers is None else int(text)
        )
    return ServeOptions(**values)


def _is_plain(option: Option, text: str) -> bool:
    if text.startswith("-") or option.is_flag or option.path is not None:
        return False
    if option.numbers is not None:
        return text.isdecimal() and int(text) in option.numbers
    return not option.choices or text in option.choices


def _unless_given(option: Option) -> Any:
    return () if option.multiple else False if option.is_flag else option.default
