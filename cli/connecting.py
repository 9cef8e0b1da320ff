"""Options that name a cluster, and a check that its brokers can be reached.

The check reports errors that clients such as librdkafka do not explain.
"""

from __future__ import annotations

import socket
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from kohort.base.address import AddressError, parse_address
from kohort.base.lean_imports import without
from kohort.cli.output import say

if TYPE_CHECKING:
    from kohort.client.security import Security

REACH_S = 10.0
WANTS_TLS = "it requires TLS; give --command-config FILE with security.protocol=SSL, or SASL_SSL and a login"

Command = TypeVar("Command", bound=Callable[..., Any])


def bootstrap_option(command: Command) -> Command:
    option = click.option(
        "--bootstrap",
        "--bootstrap-server",  # as Kafka's own tools
        "-b",
        default="127.0.0.1:9092",
        show_default=True,
        metavar="HOST:PORT,...",
        envvar="KOHORT_BOOTSTRAP",
        show_envvar=True,
        help="The cluster: kohort or any other Kafka.",
    )
    return option(command)


def config_option(command: Command) -> Command:
    option = click.option(
        "--command-config",
        "config",
        type=click.Path(path_type=Path, exists=True, dir_okay=False),
        metavar="FILE",
        envvar="KOHORT_COMMAND_CONFIG",
        show_envvar=True,
        help="Kafka's client properties for TLS and SASL, as for Kafka's own tools or librdkafka.",
    )
    return option(command)


def security_of(config: Path | None) -> Security:
    """Return the security settings of the file; exit with code 2 if they are invalid."""
    from kohort.client.security import OPEN, SecurityError, from_file

    try:
        security = OPEN if config is None else from_file(config)
        if security.tls:
            security.context()  # report unusable certificates at once
    except SecurityError as error:
        say(f"kohort: {error}", err=True)
        sys.exit(2)
    return security


def addresses_of(bootstrap: str) -> list[tuple[str, int]]:
    """Parse `HOST:PORT,…`; exit with code 2 if an address is invalid."""
    try:
        return [parse_address(address.strip()) for address in bootstrap.split(",")]
    except AddressError as error:
        say(f"kohort: {error}", err=True)
        sys.exit(2)


def reach(host: str, port: int, security: Security, client_id: str, timeout_s: float) -> int:
    """Open a connection, log in and close it again.

    Returns:
        The number of APIs that the broker serves.

    Raises:
        BrokerError: The broker cannot be reached or rejects the login; the message begins with its address.
    """
    import asyncio

    with without("hypothesis"):
        from kohort.cli.watch.client import Broker, BrokerError
        from kohort.client.security import OPEN

    async def connect() -> int:
        broker = Broker(host, port, security, client_id)
        try:
            async with asyncio.timeout(timeout_s):
                return await broker.connect()
        except TimeoutError:
            raise BrokerError(f"{broker.address}: no answer within {timeout_s:g} s") from None
        finally:
            broker.close()

    try:
        return asyncio.run(connect())
    except BrokerError:
        if security == OPEN and speaks_tls(host, port, timeout_s):
            raise BrokerError(f"{host}:{port}: {WANTS_TLS}") from None
        raise


def reach_one(bootstrap: str, security: Security, client_id: str, timeout_s: float) -> tuple[str, int]:
    """Return the first of the addresses where a broker accepts the connection and the login.

    Raises:
        BrokerError: No address can be reached; it is the error of the first one.
    """
    errors: list[OSError] = []
    for host, port in addresses_of(bootstrap):
        try:
            reach(host, port, security, client_id, timeout_s)
        except OSError as error:
            errors.append(error)
        else:
            return host, port
    raise errors[0]


def speaks_tls(host: str, port: int, timeout_s: float) -> bool:
    """Return whether the port answers a TLS handshake, even with an alert. Certificates are not verified."""
    import ssl

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    try:
        with socket.create_connection((host, port), timeout_s) as plain, context.wrap_socket(plain):
            return True
    except ssl.SSLError as error:
        return "ALERT" in (error.reason or "")
    except OSError:
        return False
