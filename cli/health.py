"""`kohort health HOST:PORT`: checks with a blocking socket and a handwritten request whether a broker responds.

Nothing else needs to be imported. With TLS or a login, kohort's client is used.
"""

import socket
import sys
import time
from pathlib import Path

import click

from kohort.base.address import show_address
from kohort.cli.connecting import WANTS_TLS, addresses_of, config_option, reach, security_of, speaks_tls
from kohort.cli.output import say

_API_VERSIONS_V0 = bytes.fromhex("0012 0000 00000001 ffff")  # key 18, version 0, correlation id 1, no client id

_BEGINNING = 14
_BEFORE_APIS, _AN_API = 10, 6  # bytes of the response before its list of APIs, and of each API
MAX_APIS = 1_000
DEFAULT_ADDRESS = "127.0.0.1:9092"
_TLS_ALERT = b"\x15\x03"


class HungUpError(ValueError):
    """Connection that was closed without a response, as happens if TLS is required."""


@click.command()
@click.argument("address", metavar="[HOST:PORT]", required=False)
@click.option("--timeout", "timeout_s", default=2.0, show_default=True, help="Seconds to wait for the response.")
@click.option(
    "--ready-file",
    metavar="FILE",
    envvar="KOHORT_READY_FILE",
    show_envvar=True,
    help="Read the address from this file if none is given, as written by `kohort serve --ready-file`.",
)
@config_option
def health(address: str | None, timeout_s: float, ready_file: str | None, config: Path | None) -> None:
    """Check whether the broker at HOST:PORT responds, and print how many APIs it serves. Exit code 0: yes; 1: no.

    Any broker of Kafka's protocol will do; the default address is 127.0.0.1:9092. With --command-config the login must
    succeed, too. Of several addresses one that responds is enough.
    """
    if address is None:
        address = DEFAULT_ADDRESS if ready_file is None else _written(ready_file)
    healthy = [_answers(host, port, timeout_s, config) for host, port in addresses_of(address)]
    sys.exit(0 if any(healthy) else 1)


def _written(file: str) -> str:
    try:
        return Path(file).read_text().strip()
    except OSError as error:
        say(f"kohort: no broker is ready: {file}: {error.strerror}", err=True)
        sys.exit(1)


def _answers(host: str, port: int, timeout_s: float, config: Path | None) -> bool:
    address = show_address(host, port)
    try:
        if config is None:
            count = ask(host, port, timeout_s)
        else:
            count = reach(host, port, security_of(config), "kohort-health", timeout_s)
    except (HungUpError, ConnectionResetError) as error:
        reason = WANTS_TLS if speaks_tls(host, port, timeout_s) else str(error)
    except (OSError, ValueError, OverflowError) as error:
        reason = str(error).removeprefix(f"{address}: ")
    else:
        say(f"{address} serves {count} APIs")
        return True
    say(f"{address} does not respond: {reason}", err=True)
    return False


def ask(host: str, port: int, timeout_s: float) -> int:
    """Return the number of APIs that the broker serves.

    Raises:
        OSError: The broker can't be reached.
        HungUpError: The connection was closed without a response.
        ValueError: The response is not Kafka's.
    """
    ends = time.monotonic() + timeout_s
    with socket.create_connection((host, port), timeout_s) as connection:
        connection.sendall(len(_API_VERSIONS_V0).to_bytes(4, "big") + _API_VERSIONS_V0)
        start = b""
        while len(start) < _BEGINNING:  # one deadline for all of it, also if bytes arrive one by one
            connection.settimeout(max(ends - time.monotonic(), 0.001))
            more = connection.recv(_BEGINNING - len(start))
            if not more:
                raise HungUpError("the connection was closed")
            start += more
            if start.startswith(_TLS_ALERT):
                raise HungUpError("it sent a TLS alert")
        size, count = int.from_bytes(start[:4], "big"), int.from_bytes(start[10:14], "big")
    correlation_id, error_code = start[4:8], start[8:10]
    if (
        correlation_id != bytes((0, 0, 0, 1))
        or error_code != bytes(2)
        or not 0 < count <= MAX_APIS
        or size != _BEFORE_APIS + _AN_API * count
    ):
        raise ValueError("the response is not from a Kafka broker")
    return count
