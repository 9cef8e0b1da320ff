"""Start of a broker from the options of its command line."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping, Sequence, Set
from typing import TYPE_CHECKING, NamedTuple, NoReturn

from kohort.base.address import HIGHEST_PORT, AddressError, parse_address, parse_advertised, show_address
from kohort.base.control_token import TokenError, checked
from kohort.base.lean_imports import load_event_loop, without
from kohort.broker.runtime.listener import Entrances, PlainEntrance
from kohort.broker.settings.broker_settings import SETTINGS, SettingError, Settings
from kohort.cli.extras import needs_extra
from kohort.cli.output import say
from kohort.cli.serve_options import DEFAULT_LISTEN, LOOPBACK, ServeOptions

if TYPE_CHECKING:
    from pathlib import Path

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
        from kohort.broker.runtime.run import Places, run
        from kohort.broker.runtime.server import ListenError
        from kohort.storage.disk.ownership import DataDirectoryError

    log.configure(level=options.log_level, json=options.log_format == "json", writer=LineWriter(STDERR))
    places = Places(options.event_log, options.data_dir, options.fsync, options.restore_topics, options.ready_file)
    message = ""
    try:
        run(settings, entrances, options.nodes, controlled, places)
    except (ListenError, EventLogError, DataDirectoryError) as error:
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
    values, from_file = read_settings(options.config, assignments)
    if options.secure is not None:
        secured = secured_in(options.secure, values, listen or DEFAULT_LISTEN)
        values, users, listen = values | secured.settings, (*secured.users, *users), None
    settings = Settings(values, options.profile, options.nodes, from_file=from_file)
    return settings, entrances_of(settings, listen, options.advertise, options.nodes, users)


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


def entrances_of(settings: Settings, listen: str | None, advertise: str, nodes: int, users: Sequence[str]) -> Entrances:
    """Return the listeners that the command line or the settings define.

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
    host, port = parse_address(listen or DEFAULT_LISTEN)
    if port and port + nodes - 1 > HIGHEST_PORT:
        raise AddressError(f"{nodes} nodes from port {port} on need ports above {HIGHEST_PORT}; choose a lower port")
    return PlainEntrance(host, port, parse_advertised(advertise, nodes))


def control_at(options: ServeOptions) -> Control:
    """Return the control address. Its modules are imported only here.

    Raises:
        AddressError: The address is invalid.
        TokenError: The token is invalid.
    """
    address = options.control or ""
    host, port = parse_address(f"{LOOPBACK}:{address.removeprefix(':')}" if address.lstrip(":").isdigit() else address)
    token = checked(options.control_token)
    with needs_extra("--control", "control"), without("hypothesis"):
        from kohort.broker.runtime.server import ListenError
        from kohort.control.http.listening import Control

    try:
        return Control(host, port, token, options.control_names, options.control_certificate)
    except ListenError as error:
        refuse(str(error))


def read_settings(config: str | None, assignments: tuple[str, ...]) -> tuple[dict[str, str], Set[str]]:
    """Return the settings of file and command line, and the names that only the file sets.

    Raises:
        SettingError: The file or an assignment can't be understood.
    """
    in_file, assigned = read_file(config), read_assignments(assignments)
    return in_file | assigned, in_file.keys() - assigned.keys()


def read_file(config: str | None) -> dict[str, str]:
    if config is None:
        return {}
    from kohort.client.settings_file import BROKER, SettingsFileError, explain_names, read_settings_file

    def is_setting(name: str) -> bool:
        if name in SETTINGS:
            return True
        from kohort.broker.settings import unsupported  # most files have a supported name

        return unsupported.is_brokers(name)

    try:
        values = read_settings_file(config)
    except SettingsFileError as error:
        raise SettingError(f"--config {error}") from None
    if reason := explain_names(values, is_setting, BROKER):
        raise SettingError(f"--config {config}: {reason}")
    return values


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
