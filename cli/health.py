"""`kohort health HOST:PORT`: does a broker answer there? A blocking socket and a request by hand: nothing to load.

Over TLS and with a login, kohort's client asks.
"""

import socket
import sys
import time
from pathlib import Path

import click

from kohort.broker.address import AddressError, parse_address, show_address
from kohort.cli.reaching import WANTS_TLS, config_option, reach, security_of, speaks_tls
from kohort.cli.saying import say

_API_VERSIONS_V0 = bytes.fromhex("0012 0000 00000001 ffff")
"""Key 18, version 0, correlation id 1, no client id."""

_BEGINNING = 14
_BEFORE_APIS, _AN_API = 10, 6
"""Bytes of the answer before its list of APIs, and of each API in it."""
MOST_APIS = 1_000
_TLS_ALERT = b"\x15\x03"


class HungUpError(ValueError):
    """The connection ended without an answer, as it does where TLS is spoken."""


@click.command()
@click.argument("address", metavar="HOST:PORT", default="127.0.0.1:9092")
@click.option("--timeout", "timeout_s", default=2.0, show_default=True, help="Seconds to wait for the answer.")
@config_option
def health(address: str, timeout_s: float, config: Path | None) -> None:
    """Ask the broker at HOST:PORT which APIs it serves. Exit code 0 when it answers, 1 when it does not.

    Any broker that speaks Kafka's protocol will do. With --command-config it must let us in, too.
    """
    try:
        host, port = parse_address(address)
    except AddressError as problem:
        say(f"kohort: {problem}", err=True)
        sys.exit(2)
    try:
        if config is None:
            count = ask(host, port, timeout_s)
        else:
            count = reach(host, port, security_of(config), "kohort-health", timeout_s)
    except (HungUpError, ConnectionResetError) as problem:
        why = WANTS_TLS if speaks_tls(host, port, timeout_s) else str(problem)
        say(f"{show_address(host, port)} does not answer: {why}", err=True)
        sys.exit(1)
    except (OSError, ValueError, OverflowError) as problem:
        said = str(problem).removeprefix(f"{show_address(host, port)}: ")
        say(f"{show_address(host, port)} does not answer: {said}", err=True)
        sys.exit(1)
    say(f"{show_address(host, port)} serves {count} APIs")


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
