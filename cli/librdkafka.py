"""librdkafka, which `produce` and `consume` leave the work to, as kcat does: what it is told, and what it says."""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn, TypeVar, cast

import click

from kohort.cli.connecting import REACH_S, bootstrap_option, config_option, reach_one, security_of
from kohort.cli.extras import needs_extra
from kohort.cli.output import say
from kohort.client.oauth_tokens import LIFE_S, token_of

if TYPE_CHECKING:
    from kohort.client.security import Security

ANSWER_S = 30.0

Command = TypeVar("Command", bound=Callable[..., Any])


class ClusterOptions(NamedTuple):
    """Where the cluster is, and how to speak to it."""

    bootstrap: str
    config: Path | None
    """A file of Kafka's client properties."""
    properties: tuple[str, ...]
    """NAME=VALUE, as librdkafka has them."""


def cluster_options(command: Command) -> Command:
    """Gives a command `cluster`, its ClusterOptions, and `quiet`."""
    property_option = click.option(
        "--property",
        "-X",
        "properties",
        multiple=True,
        metavar="NAME=VALUE",
        help="A setting of librdkafka's, as acks=1; repeatable.",
    )
    quiet_option = click.option("--quiet", "-q", is_flag=True, help="Say nothing on stderr but what goes wrong.")

    @wraps(command)
    def with_cluster(
        *arguments: Any, bootstrap: str, config: Path | None, properties: tuple[str, ...], **options: Any
    ) -> Any:
        return command(*arguments, cluster=ClusterOptions(bootstrap, config, properties), **options)

    return cast(Command, bootstrap_option(config_option(property_option(quiet_option(with_cluster)))))


def settings_of(
    cluster: ClusterOptions, client_id: str, troubles: Troubles, ours: Mapping[str, object]
) -> dict[str, Any]:
    """What a client of librdkafka is made with; the properties that the user names count more than `ours`.

    Ends the command where librdkafka is not installed, or no broker lets us in: its own words for that say less.
    """
    with needs_extra("this", "records"):
        import confluent_kafka  # noqa: F401
    named: dict[str, object] = {}
    for each in cluster.properties:
        name, equals, value = each.partition("=")
        if not equals:
            raise click.BadParameter(f"{each}: wants NAME=VALUE", param_hint="--property")
        named[name.strip()] = value.strip()
    security = security_of(cluster.config)
    try:
        reach_one(cluster.bootstrap, security, client_id, REACH_S)
    except OSError as problem:
        fail(str(problem))
    logger = logging.Logger(client_id)
    logger.addHandler(logging.NullHandler())  # what matters of its lines comes as an error, too
    common = {
        "bootstrap.servers": cluster.bootstrap,
        "client.id": client_id,
        "logger": logger,
        "error_cb": troubles.heard,
    }
    return common | _security_settings(security) | dict(ours) | named


def _security_settings(security: Security) -> dict[str, object]:
    """librdkafka's names for what Java's properties say."""
    said: dict[str, object] = {"security.protocol": security.protocol}
    if security.sasl:
        said["sasl.mechanism"] = security.mechanism
        if security.mechanism == "OAUTHBEARER":
            said["oauth_cb"] = lambda _: (token_of(security), time.time() + LIFE_S)
        else:
            said |= {"sasl.username": security.username, "sasl.password": security.password}
    if security.tls:
        said["ssl.endpoint.identification.algorithm"] = "https" if security.check_hostname else "none"
        if security.authorities:
            said["ssl.ca.pem"] = security.authorities
        if security.certificate:
            said |= {"ssl.certificate.pem": security.certificate, "ssl.key.pem": security.certificate}
        if security.key_password:
            said["ssl.key.password"] = security.key_password
    return said


class Troubles:
    """Says what librdkafka reports while it goes on by itself: each kind once, until records move again."""

    def __init__(self) -> None:
        self._said: set[int] = set()

    def heard(self, error: Any) -> None:
        """`error_cb`."""
        from confluent_kafka import KafkaError

        # That all brokers are down follows what was said of each one.
        if error.code() not in self._said and error.code() != KafkaError._ALL_BROKERS_DOWN:
            self._said.add(error.code())
            say(f"kohort: {error.str()}; trying again", err=True)

    def over(self) -> None:
        """Records move."""
        self._said.clear()


@contextmanager
def its_errors() -> Iterator[None]:
    """What it raises ends the command with a sentence: exit code 2 where a setting is wrong, otherwise 1."""
    from confluent_kafka import KafkaError, KafkaException

    try:
        yield
    except KafkaException as raised:
        problem = raised.args[0]
        if problem.code() == KafkaError._INVALID_ARG:
            say(f"kohort: {problem.str()}", err=True)
            sys.exit(2)
        fail(in_words(problem))


def in_words(problem: Any) -> str:
    """Kafka's name of an error of a broker's, and what librdkafka says."""
    return f"{problem.name()}: {problem.str()}" if problem.code() > 0 else str(problem.str())


def partitions_of(client: Any, topic: str) -> list[int]:
    """The topic's partitions. Where there are none the command ends with a sentence."""
    from confluent_kafka import KafkaError

    about = client.list_topics(topic, timeout=ANSWER_S).topics[topic]
    if about.error is not None:
        if about.error.code() == KafkaError.UNKNOWN_TOPIC_OR_PART:
            fail(f"there is no topic {topic}")
        fail(f"{topic}: {in_words(about.error)}")
    return sorted(about.partitions)


def fail(sentence: str) -> NoReturn:
    """Says why not, and ends with exit code 1."""
    say(f"kohort: {sentence}", err=True)
    sys.exit(1)
