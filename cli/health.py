"""`kohort health HOST:PORT`: does a broker answer there? A blocking socket and a request by hand: nothing to load.

Over TLS and with a login, kohort's client asks.
"""

import socket
import sys
import time
from pathlib import Path

import click

from kohort.broker.address import show_address
from kohort.cli.connecting import WANTS_TLS, addresses_of, config_option, reach, security_of, speaks_tls
from kohort.cli.output import say

_API_VERSIONS_V0 = bytes.fromhex("0012 0000 00000001 ffff")
"""Key 18, version 0, correlation id 1, no client id."""

_BEGINNING = 14
_BEFORE_APIS, _AN_API = 10, 6
"""Bytes of the answer before its list of APIs, and of each API in it."""
MOST_APIS = 1_000
DEFAULT_ADDRESS = "127.0.0.1:9092"
_TLS_ALERT = b"\x15\x03"


class HungUpError(ValueError):
    """The connection ended without an answer, as it does where TLS is spoken."""


@click.command()
@click.argument("address", metavar="[HOST:PORT]", required=False)
@click.option("--timeout", "timeout_s", default=2.0, show_default=True, help="Seconds to wait for the answer.")
@click.option(
    "--ready-file",
    metavar="FILE",
    envvar="KOHORT_READY_FILE",
    show_envvar=True,
    help="Where to read the address if none is given: what `kohort serve --ready-file` has written.",
)
@config_option
def health(address: str | None, timeout_s: float, ready_file: str | None, config: Path | None) -> None:
    """Ask the broker at HOST:PORT which APIs it serves. Exit code 0 when it answers, 1 when it does not.

    Any broker that speaks Kafka's protocol will do; without an address it is the one at 127.0.0.1:9092. With
    --command-config it must let us in, too. Of several addresses one that answers is enough.
    """
    if address is None:
        address = DEFAULT_ADDRESS if ready_file is None else _written(ready_file)
    healthy = [_answers(host, port, timeout_s, config) for host, port in addresses_of(address)]
    sys.exit(0 if any(healthy) else 1)


def _written(file: str) -> str:
    """The addresses in a file that a broker keeps. Where there is none, the command ends with exit code 1."""
    try:
        return Path(file).read_text().strip()
    except OSError as problem:
        say(f"kohort: no broker is ready: {file}: {problem.strerror}", err=True)
        sys.exit(1)


def _answers(host: str, port: int, timeout_s: float, config: Path | None) -> bool:
    """Whether a broker does; says so, or why not."""
    where = show_address(host, port)
    try:
        if config is None:
            count = ask(host, port, timeout_s)
        else:
            count = reach(host, port, security_of(config), "kohort-health", timeout_s)
    except (HungUpError, ConnectionResetError) as problem:
        why = WANTS_TLS if speaks_tls(host, port, timeout_s) else str(problem)
    except (OSError, ValueError, OverflowError) as problem:
        why = str(problem).removeprefix(f"{where}: ")
    else:
        say(f"{where} serves {count} APIs")
        return True
    say(f"{where} does not answer: {why}", err=True)
    return False


def ask(host: str, port: int, timeout_s: float) -> int:
    """How many APIs the broker serves. Raises OSError, HungUpError or ValueError when there is no proper answer."""
    ends = time.monotonic() + timeout_s
    with socket.create_connection((host, port), timeout_s) as connection:
        connection.sendall(len(_API_VERSIONS_V0).to_bytes(4, "big") + _API_VERSIONS_V0)
        start = b""
        while len(start) < _BEGINNING:  # a byte now and then is no answer either
            connection.settimeout(max(ends - time.monotonic(), 0.001))
            more = connection.recv(_BEGINNING - len(start))
            if not more:
                raise HungUpError("it hung up")
            start += more
            if start.startswith(_TLS_ALERT):
                raise HungUpError("it sent an alert of TLS")
        size, count = int.from_bytes(start[:4], "big"), int.from_bytes(start[10:14], "big")
    correlation_id, error_code = start[4:8], start[8:10]
    if (
        correlation_id != bytes((0, 0, 0, 1))
        or error_code != bytes(2)
        or not 0 < count <= MOST_APIS
        or size != _BEFORE_APIS + _AN_API * count
    ):
        raise ValueError("what answers is no Kafka broker")
    return count
