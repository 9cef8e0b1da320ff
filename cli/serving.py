"""Start of a broker from the options of its command line."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Mapping, Sequence, Set
from typing import TYPE_CHECKING, NamedTuple, NoReturn

from kohort.base.address import (
    EVERYWHERE,
    HIGHEST_PORT,
    LOOPBACK,
    AddressError,
    parse_address,
    parse_advertised,
    show_address,
)
from kohort.base.control_token import TokenError, checked
from kohort.base.lean_imports import load_event_loop, without
from kohort.broker.runtime.listener import Entrances, PlainEntrance
from kohort.broker.settings.broker_settings import SETTINGS, SettingError, Settings
from kohort.cli.extras import needs_extra
from kohort.cli.output import say
from kohort.cli.serve_options import DEFAULT_LISTEN, ServeOptions

if TYPE_CHECKING:
    from pathlib import Path

    from kohort.broker.settings.unsupported import PassedOver
    from kohort.control.http.listening import Control

STDERR = 2


def serve_until_stopped(options: ServeOptions) -> None:
    try:
        settings, entrances = broker_of(options)
        controlled = None if options.control is None else control_at(options)
    except (AddressError, SettingError, TokenError) as error:
        refuse(str(error))
    if options.data_dir is None:
        refuse_in_memory(options.fsync, options.restore_topics)

    # imported only now, so that mistakes in the options are reported at once
    load_event_loop()
    with without("hypothesis"):
        from kohort.base.line_writer import LineWriter
        from kohort.base.logs import log
        from kohort.broker.cluster.group_events import EventLogError
        from kohort.broker.cluster.initial_topics import TopicError, parse_topics
        from kohort.broker.runtime.run import Places, run
        from kohort.broker.runtime.server import ListenError
        from kohort.storage.disk.ownership import DataDirectoryError

    log.configure(level=options.log_level, json=options.log_format == "json", writer=LineWriter(STDERR))
    places = Places(options.event_log, options.data_dir, options.fsync, options.restore_topics, options.ready_file)
    message = ""
    try:
        run(settings, entrances, options.nodes, controlled, places, parse_topics(options.topics))
    except (ListenError, EventLogError, DataDirectoryError, TopicError) as error:
        message = str(error)
    finally:
        log.close()
    if message:
        refuse(message)


def broker_of(options: ServeOptions) -> tuple[Settings, Entrances]:
    """Return the settings of the broker, and its listeners.

    Raises:
        AddressError: An address is invalid.
        SettingError: A setting is invalid, or contradicts an option.
    """
    assignments, listen, users = options.assignments, options.listen, options.users
    if options.as_kafka is not None:
        assignments = (f"kohort.as.kafka={options.as_kafka}", *assignments)
    environment = None
    default_listen = DEFAULT_LISTEN
    if options.kafka_environment:
        environment, default_listen = os.environ, DEFAULT_LISTEN.replace(LOOPBACK, EVERYWHERE)
    values, from_file, ignored = read_settings(options.config, assignments, environment)
    if options.secure is not None:
        secured = secured_in(options.secure, values, listen or default_listen)
        values, users, listen = values | secured.settings, (*secured.users, *users), None
    settings = Settings(values, options.profile, options.nodes, from_file=from_file)
    settings.passed_over += ignored
    return settings, entrances_of(settings, listen, options.advertise, options.nodes, users, default_listen)


def refuse_in_memory(fsync: str, restore_topics: bool) -> None:
    if fsync != "never":
        refuse(f"--fsync {fsync} has no effect in memory; name a directory with --data-dir")
    if restore_topics:
        refuse("--restore-topics has no effect in memory; name a directory with --data-dir")


class SecuredFolder(NamedTuple):
    """Settings and users that `--secure` adds."""

    settings: dict[str, str]
    users: tuple[str, ...]


def secured_in(folder: Path, values: Mapping[str, str], listen: str) -> SecuredFolder:
    """Write certificates and clients' properties to a folder.

    Raises:
        AddressError: The address is invalid.
        SettingError: The folder can't be written, or `listeners` is set, too.
    """
    from kohort.control.control_errors import ControlError
    from kohort.testing.secured import Secured

    if values.get("listeners"):
        raise SettingError("--secure and listeners both define where clients connect; use one of them")
    host, port = parse_address(listen)
    try:
        secured = Secured("SASL_SSL", folder)
        secured.write_properties()
    except ControlError as error:
        raise SettingError(str(error).replace("security='SASL_SSL'", "--secure")) from None
    except OSError as error:
        raise SettingError(f"--secure {folder}: {error.strerror}") from None
    settings = secured.settings(show_address(host, port), values.get("authorizer.class.name", ""))
    return SecuredFolder(settings, tuple(secured.new_users))


def entrances_of(
    settings: Settings,
    listen: str | None,
    advertise: str,
    nodes: int,
    users: Sequence[str],
    default_listen: str = DEFAULT_LISTEN,
) -> Entrances:
    """Return the listeners that the command line or the settings define, or one at the default address.

    Raises:
        AddressError: An address or port is invalid.
        SettingError: Options and settings contradict each other.
    """
    if settings.listeners or settings.advertised_listeners:
        for option, value in (("--listen", listen), ("--advertise", advertise)):
            if value:
                raise SettingError(f"{option} and listeners both define where clients connect; use one of them")
        with without("hypothesis"):
            from kohort.broker.runtime.securing import Securing

        return Securing(settings, nodes, time.time(), users)
    if users:
        raise SettingError("--add-scram requires listeners to be set, or no user can log in")
    host, port = parse_address(listen or default_listen)
    if port and port + nodes - 1 > HIGHEST_PORT:
        raise AddressError(f"{nodes} nodes from port {port} on need ports above {HIGHEST_PORT}; choose a lower port")
    return PlainEntrance(host, port, parse_advertised(advertise, nodes))


def control_at(options: ServeOptions) -> Control:
    """Return the control address. Its modules are imported only here.

    Raises:
        AddressError: The address is invalid.
        TokenError: The token is invalid.
    """
    host, port = parse_address(options.control or "")
    token = checked(options.control_token)
    with needs_extra("--control", "control"), without("hypothesis"):
        from kohort.broker.runtime.server import ListenError
        from kohort.control.http.listening import Control

    try:
        return Control(host, port, token, options.control_names, options.control_certificate)
    except ListenError as error:
        refuse(str(error))


class GivenSettings(NamedTuple):
    """Settings from the file, the environment and the command line."""

    values: dict[str, str]
    from_file: Set[str]  # names that only a file or the environment sets
    ignored: list[PassedOver]  # log lines about environment variables that are not settings


def read_settings(
    config: str | None, assignments: tuple[str, ...], environment: Mapping[str, str] | None = None
) -> GivenSettings:
    """Read the settings of a file, of the environment and of the command line, in increasing order of precedence.

    Raises:
        SettingError: The file or an assignment can't be understood.
    """
    values, unknown = read_file(config)
    if environment is not None:
        from kohort.broker.settings.kafka_environment import settings_of

        variables = {name: value for name, value in environment.items() if name.startswith("KAFKA_")}
        in_environment = settings_of(variables, _is_setting, values)
        values, unknown = values | in_environment.values, [*unknown, *in_environment.unknown]
    assigned = read_assignments(assignments)
    ignored: list[PassedOver] = []
    if unknown:
        from kohort.broker.settings.kafka_environment import describe_unknown
        from kohort.broker.settings.unsupported import PassedOver

        ignored.append(PassedOver(describe_unknown(unknown, SETTINGS), False))
    return GivenSettings(values | assigned, values.keys() - assigned.keys(), ignored)


def read_file(config: str | None) -> tuple[dict[str, str], list[str]]:
    """Return the settings of a file, and the environment variables in it that are not settings.

    Raises:
        SettingError: The file can't be understood.
    """
    if config is None:
        return {}, []
    from kohort.broker.settings.kafka_environment import is_environment, settings_of
    from kohort.client.settings_file import BROKER, SettingsFileError, explain_names, read_settings_file

    try:
        values = read_settings_file(config)
    except SettingsFileError as error:
        raise SettingError(f"--config {error}") from None
    if is_environment(values) and (in_environment := settings_of(values, _is_setting)).values:
        return in_environment.values, in_environment.unknown
    if reason := explain_names(values, _is_setting, BROKER):
        raise SettingError(f"--config {config}: {reason}")
    return values, []


def _is_setting(name: str) -> bool:
    if name in SETTINGS:
        return True
    from kohort.broker.settings import unsupported  # most files have a supported name

    return unsupported.is_brokers(name)


def read_assignments(assignments: tuple[str, ...]) -> dict[str, str]:
    values: dict[str, str] = {}
    for assignment in assignments:
        name, equals, value = assignment.partition("=")
        if not equals or not name.strip():
            raise SettingError(f"--set {assignment}: expected --set NAME=VALUE")
        values[name.strip()] = value.strip()
    return values


def refuse(message: str) -> NoReturn:
    say(f"kohort: {message}", err=True)
    sys.exit(2)
