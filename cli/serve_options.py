"""The options of `kohort serve`, and their values as one; without click, which is a fifteenth of a start."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum
from typing import TYPE_CHECKING, Any, NamedTuple

from kohort.broker.settings.broker_settings import PROFILES
from kohort.protocol.releases import RELEASES

if TYPE_CHECKING:
    from pathlib import Path

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


class Place(Enum):
    """What the path of an option may name."""

    ANY = 0
    FILE = 1
    DIRECTORY = 2


class Option(NamedTuple):
    """One option: as it is typed, what it may be, and what `--help` says. Without more to say it is a text."""

    name: str
    help: str = ""
    metavar: str | None = None
    default: str | int | None = None
    """None and the empty text are not shown by `--help`."""
    field: str = ""
    """The one of ServeOptions; empty: as the option."""
    choices: Sequence[str] = ()
    numbers: range | None = None
    path: Place | None = None
    is_flag: bool = False
    multiple: bool = False
    variable: str | None = None
    """A variable of the environment that counts where the option is not given."""

    @property
    def attribute(self) -> str:
        """Where ServeOptions has its value."""
        return self.field or self.name.removeprefix("--").replace("-", "_")


OPTIONS = (
    Option(
        "--listen",
        metavar="HOST:PORT",
        help="Where clients connect in plain text. Port 0: any free one. The setting listeners takes its place.  "
        f"[default: {DEFAULT_LISTEN}]",
    ),
    Option("--nodes", default=1, numbers=range(1, 101), help="On consecutive ports."),
    Option(
        "--advertise",
        default="",
        metavar="HOST[:PORT],...",
        help="The address that clients get instead of the host they dialled: one for all, or one for each node. "
        "Without a PORT it is the one the node listens on; with one, for mapped ports, the next nodes have "
        "the next ports.",
    ),
    Option(
        "--profile",
        choices=tuple(sorted(PROFILES)),
        default="faithful",
        help="faithful: as Kafka 4.3. test: every delay as short as it may be: " + ", ".join(_TEST_SETTINGS) + ".",
    ),
    Option(
        "--as-kafka",
        choices=RELEASES,
        help="Serve the API versions of that release of Kafka, with its defaults; as the setting kohort.as.kafka.",
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
        help="Serve over SASL_SSL, with a throw-away authority and the users admin, alice and bob (alice-secret, …). "
        "DIR gets ca.pem, and for each user a file for --command-config, as alice.properties.",
    ),
    Option(
        "--add-scram",
        field="users",
        multiple=True,
        metavar="MECHANISM=[name=…,password=…]",
        help="A user who logs in by SCRAM, as with kafka-storage; repeatable. Kept in the data directory, "
        "if there is one.",
    ),
    Option("--config", metavar="FILE", help="Settings, as in server.properties."),
    Option(
        "--data-dir",
        path=Place.ANY,
        metavar="DIR",
        help="Where to keep topics and groups, in Kafka's layout, so that they are there after a restart. Without it "
        "they are in memory.",
    ),
    Option(
        "--fsync",
        choices=FSYNC,
        default="never",
        help="When the data directory is synced. never: the system writes it when it likes to, as with Kafka's "
        "defaults, which survives the end of the process. interval: every log.flush.interval.ms. always: before "
        "anything is acknowledged.",
    ),
    Option(
        "--restore-topics",
        is_flag=True,
        help="Make topics of the folders in the data directory, if its topics.jsonl is lost. Their settings are lost "
        "with it: they keep all records until retention.ms is set.",
    ),
    Option(
        "--event-log",
        path=Place.ANY,
        metavar="DIR",
        help="Where to write what happens to groups, as JSON lines; `kohort analyze DIR` reads it.",
    ),
    Option(
        "--control",
        metavar="HOST:PORT",
        help="Serve HTTP there, for `kohort admin`, `ctl`, `watch` and a browser; a PORT alone: on this machine only. "
        "Off unless given.",
    ),
    Option(
        "--control-certificate",
        path=Place.ANY,
        metavar="FILE",
        help="A PEM file with a certificate and its key: HTTPS is served there instead.",
    ),
    Option(
        "--control-token",
        default="",
        metavar="TOKEN",
        variable="KOHORT_CONTROL_TOKEN",
        help="What must be shown there. Without one, nothing but this machine's own addresses may be listened on.",
    ),
    Option(
        "--control-host",
        field="control_names",
        multiple=True,
        metavar="NAME",
        variable="KOHORT_CONTROL_HOST",
        help="A name that clients dial it by, beside localhost; repeatable. Requests for other names are refused.",
    ),
    Option(
        "--ready-file",
        path=Place.FILE,
        metavar="FILE",
        variable="KOHORT_READY_FILE",
        help="Where the addresses that it listens on are written when it accepts, for `kohort health --ready-file`; "
        "removed at its end.",
    ),
    Option("--log-format", choices=("console", "json"), default="console"),
    Option("--log-level", choices=("debug", "info", "warning", "error"), default="info"),
)

_BY_NAME = {each.name: each for each in OPTIONS}


def read_at_a_glance(words: Sequence[str], environment: Mapping[str, str]) -> ServeOptions | None:
    """The options in the words behind `kohort serve`, if they are pairs of a name and a value, as usually.

    None for whatever else click has to say something about: help, mistakes, flags, paths, variables of the environment.
    """
    if len(words) % 2 or any(environment.get(each.variable) for each in OPTIONS if each.variable):
        return None
    found: dict[str, Any] = {each.attribute: _unless_given(each) for each in OPTIONS}
    for name, text in zip(words[::2], words[1::2], strict=True):
        option = _BY_NAME.get(name)
        if option is None or not _is_plain(option, text):
            return None
        before = found[option.attribute]
        found[option.attribute] = (*before, text) if option.multiple else text if option.numbers is None else int(text)
    return ServeOptions(**found)


def _is_plain(option: Option, text: str) -> bool:
    """Whether the text is a value of the option, and it means what it says."""
    if text.startswith("-") or option.is_flag or option.path is not None:
        return False
    if option.numbers is not None:
        return text.isdecimal() and int(text) in option.numbers
    return not option.choices or text in option.choices


def _unless_given(option: Option) -> Any:
    return () if option.multiple else False if option.is_flag else option.default
