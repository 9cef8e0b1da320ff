"""Settings and errors of librdkafka, which does the work of `produce` and `consume`, as in kcat."""

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
    """Address and security of a cluster."""

    bootstrap: str
    config: Path | None  # file of Kafka's client properties
    properties: tuple[str, ...]  # NAME=VALUE, librdkafka's own


def cluster_options(command: Command) -> Command:
    """Add the options of ClusterOptions, passed as `cluster`, and `quiet`."""
    property_option = click.option(
        "--property",
        "-X",
        "properties",
        multiple=True,
        metavar="NAME=VALUE",
        help="A setting of librdkafka, such as acks=1; repeatable.",
    )
    quiet_option = click.option("--quiet", "-q", is_flag=True, help="Print only errors to stderr.")

    @wraps(command)
    def with_cluster(
        *arguments: Any, bootstrap: str, config: Path | None, properties: tuple[str, ...], **options: Any
    ) -> Any:
        return command(*arguments, cluster=ClusterOptions(bootstrap, config, properties), **options)

    return cast(Command, bootstrap_option(config_option(property_option(quiet_option(with_cluster)))))


def settings_of(
    cluster: ClusterOptions, client_id: str, troubles: Troubles, ours: Mapping[str, object]
) -> dict[str, Any]:
    """Return the settings of a client of librdkafka. Properties of the user override `ours`.

    Exit if librdkafka is not installed, or no broker accepts the login: librdkafka's own messages explain less.
    """
    with needs_extra("this", "records"):
        import confluent_kafka  # noqa: F401
    user_settings: dict[str, object] = {}
    for text in cluster.properties:
        name, equals, value = text.partition("=")
        if not equals:
            raise click.BadParameter(f"{text}: expected NAME=VALUE", param_hint="--property")
        user_settings[name.strip()] = value.strip()
    security = security_of(cluster.config)
    try:
        reach_one(cluster.bootstrap, security, client_id, REACH_S)
    except OSError as error:
        fail(str(error))
    logger = logging.Logger(client_id)
    logger.addHandler(logging.NullHandler())  # relevant log lines are reported as errors, too
    common = {
        "bootstrap.servers": cluster.bootstrap,
        "client.id": client_id,
        "logger": logger,
        "error_cb": troubles.report,
    }
    return common | _security_settings(security) | dict(ours) | user_settings


def _security_settings(security: Security) -> dict[str, object]:
    settings: dict[str, object] = {"security.protocol": security.protocol}
    if security.sasl:
        settings["sasl.mechanism"] = security.mechanism
        if security.mechanism == "OAUTHBEARER":
            settings["oauth_cb"] = lambda _: (token_of(security), time.time() + LIFE_S)
        else:
            settings |= {"sasl.username": security.username, "sasl.password": security.password}
    if security.tls:
        settings["ssl.endpoint.identification.algorithm"] = "https" if security.check_hostname else "none"
        if security.authorities:
            settings["ssl.ca.pem"] = security.authorities
        if security.certificate:
            settings |= {"ssl.certificate.pem": security.certificate, "ssl.key.pem": security.certificate}
        if security.key_password:
            settings["ssl.key.password"] = security.key_password
    return settings


class Troubles:
    """Reporter of errors from which librdkafka recovers itself: each code once, until records move again."""

    def __init__(self) -> None:
        self._reported: set[int] = set()

    def report(self, error: Any) -> None:
        from confluent_kafka import KafkaError

        # each broker was reported before "all brokers are down"
        if error.code() not in self._reported and error.code() != KafkaError._ALL_BROKERS_DOWN:
            self._reported.add(error.code())
            say(f"kohort: {error.str()}; retrying", err=True)

    def forget(self) -> None:
        self._reported.clear()


@contextmanager
def its_errors() -> Iterator[None]:
    """Convert KafkaException to a message and an exit code: 2 for a wrong setting, otherwise 1."""
    from confluent_kafka import KafkaError, KafkaException

    try:
        yield
    except KafkaException as exception:
        error = exception.args[0]
        if error.code() == KafkaError._INVALID_ARG:
            say(f"kohort: {error.str()}", err=True)
            sys.exit(2)
        fail(in_words(error))


def in_words(error: Any) -> str:
    """Return librdkafka's message, after Kafka's name of the error if a broker returned it."""
    return f"{error.name()}: {error.str()}" if error.code() > 0 else str(error.str())


def partitions_of(client: Any, topic: str) -> list[int]:
    """Return the partitions of a topic; exit with code 1 if it does not exist."""
    from confluent_kafka import KafkaError

    about = client.list_topics(topic, timeout=ANSWER_S).topics[topic]
    if about.error is not None:
        if about.error.code() == KafkaError.UNKNOWN_TOPIC_OR_PART:
            fail(f"topic {topic} does not exist")
        fail(f"{topic}: {in_words(about.error)}")
    return sorted(about.partitions)


def fail(sentence: str) -> NoReturn:
    say(f"kohort: {sentence}", err=True)
    sys.exit(1)
