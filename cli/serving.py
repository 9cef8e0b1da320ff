"""A broker as its command line wants it, until it is stopped."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping, Sequence, Set
from typing import TYPE_CHECKING, NamedTuple, NoReturn

from kohort.broker.address import HIGHEST_PORT, AddressError, parse_address, parse_advertised, show_address
from kohort.broker.control_token import TokenError, checked
from kohort.broker.lean_imports import load_event_loop, without
from kohort.broker.runtime.listener import Entrances, PlainEntrance
from kohort.broker.settings.broker_settings import SETTINGS, SettingError, Settings
from kohort.cli.extras import needs_extra
from kohort.cli.output import say
from kohort.cli.serve_options import DEFAULT_LISTEN, LOOPBACK, ServeOptions

if TYPE_CHECKING:
    from pathlib import Path

    from kohort.control.listening import Control

STDERR = 2


def serve_until_stopped(options: ServeOptions) -> None:
    """`kohort serve`, when its command line has been read."""
    try:
        settings, entrances = broker_of(options)
        controlled = None if options.control is None else control_at(options)
    except (AddressError, SettingError, TokenError) as problem:
        refuse(str(problem))
    if options.data_dir is None:
        refuse_in_memory(options.fsync, options.restore_topics)

    # Loaded only now: a mistake in the line above is reported at once.
    load_event_loop()
    with without("hypothesis"):
        from kohort.broker.cluster.group_events import EventLogError
        from kohort.broker.line_writer import LineWriter
        from kohort.broker.logs import log
        from kohort.broker.runtime.run import Places, run
        from kohort.broker.runtime.server import ListenError
        from kohort.storage.disk.ownership import DataDirectoryError

    log.configure(level=options.log_level, json=options.log_format == "json", writer=LineWriter(STDERR))
    places = Places(options.event_log, options.data_dir, options.fsync, options.restore_topics, options.ready_file)
    sentence = ""
    try:
        run(settings, entrances, options.nodes, controlled, places)
    except (ListenError, EventLogError, DataDirectoryError) as problem:
        sentence = str(problem)
    finally:
        log.close()
    if sentence:
        refuse(sentence)


def broker_of(options: ServeOptions) -> tuple[Settings, Entrances]:
    """The broker's settings, and where clients come in. Raises AddressError, SettingError."""
    assignments, listen, users = options.assignments, options.listen, options.users
    if options.as_kafka is not None:
        assignments = (f"kohort.as.kafka={options.as_kafka}", *assignments)
    given, from_file = read_settings(options.config, assignments)
    if options.secure is not None:
        secured = secured_in(options.secure, given, listen or DEFAULT_LISTEN)
        given, users, listen = given | secured.settings, (*secured.users, *users), None
    settings = Settings(given, options.profile, options.nodes, from_file=from_file)
    return settings, entrances_of(settings, listen, options.advertise, options.nodes, users)


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


def control_at(options: ServeOptions) -> Control:
    """The control address; what serves it is loaded only when somebody wants it. Raises AddressError, TokenError."""
    where = options.control or ""
    host, port = parse_address(f"{LOOPBACK}:{where.removeprefix(':')}" if where.lstrip(":").isdigit() else where)
    token = checked(options.control_token)
    with needs_extra("--control", "control"), without("hypothesis"):
        from kohort.broker.runtime.server import ListenError
        from kohort.control.listening import Control

    try:
        return Control(host, port, token, options.control_names, options.control_certificate)
    except ListenError as problem:
        refuse(str(problem))


def read_settings(config: str | None, assignments: tuple[str, ...]) -> tuple[dict[str, str], Set[str]]:
    """What the file and then the command line set, and which names stand in the file alone. Raises SettingError."""
    in_file, assigned = read_file(config), read_assignments(assignments)
    return in_file | assigned, in_file.keys() - assigned.keys()


def read_file(config: str | None) -> dict[str, str]:
    """Return what the file of `--config` sets. Raises SettingError for a file in which nothing is understood."""
    if config is None:
        return {}
    from kohort.client.settings_file import BROKER, SettingsFileError, explain_names, read_settings_file

    def is_setting(name: str) -> bool:
        if name in SETTINGS:
            return True
        from kohort.broker.settings import unsupported  # most files have a name that means something here

        return unsupported.is_brokers(name)

    try:
        given = read_settings_file(config)
    except SettingsFileError as problem:
        raise SettingError(f"--config {problem}") from None
    if reason := explain_names(given, is_setting, BROKER):
        raise SettingError(f"--config {config}: {reason}")
    return given


def read_assignments(assignments: tuple[str, ...]) -> dict[str, str]:
    """What the command line sets with `--set`. Raises SettingError for what sets nothing."""
    given: dict[str, str] = {}
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
