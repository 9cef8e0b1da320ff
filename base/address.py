"""Parsing and formatting of HOST:PORT."""

from __future__ import annotations

import re
from collections.abc import Sequence
from socket import AF_INET6, inet_pton
from struct import unpack

HIGHEST_PORT = 65_535
LOOPBACK = "127.0.0.1"
EVERYWHERE = "0.0.0.0"  # all addresses of the machine
# a name, an IPv4 address, or an IPv6 address
_HOST = re.compile(r"[A-Za-z0-9_]([A-Za-z0-9_.-]*[A-Za-z0-9_.])?|[0-9a-fA-F:.]*:[0-9a-fA-F:.]*(%\w+)?")


class AddressError(ValueError):
    """An invalid address. The text is one sentence with examples."""


def parse_address(text: str) -> tuple[str, int]:
    """Return host and port of an address such as `localhost:9092` or `[::1]:9092`.

    The host of an address that is only a port, as in `9092` or `:9092`, is LOOPBACK.

    Raises:
        AddressError: If the text is not an address.
    """
    host, colon, port = text.rpartition(":")
    if not host and port.isascii() and port.isdigit():
        host, colon = LOOPBACK, ":"
    bracketed = host.startswith("[") and host.endswith("]")
    if bracketed:
        host = host[1:-1]
    if not colon or not host or (":" in host and not bracketed):
        raise AddressError(
            f"{text} is not an address; expected HOST:PORT or PORT, as in localhost:9092, [::1]:9092 or 9092"
        )
    if not port.isascii() or not port.isdigit() or int(port) > HIGHEST_PORT:
        raise AddressError(f"{text} has no port; write HOST:PORT or PORT, with a port from 0 (any free one) to 65535")
    return host, int(port)


class Advertised:
    """Addresses of the nodes as clients get them, in the order of the nodes. Kafka: `advertised.listeners`."""

    __slots__ = ("_nodes",)

    def __init__(self, nodes: Sequence[tuple[str, int]] = ()) -> None:
        """Set the advertised addresses.

        Args:
            nodes: Host and port of each node; port 0 is the one the node listens on. If empty, each client gets the
                host that it connected to.
        """
        self._nodes = nodes

    def address(self, index: int, dialled: str, port: int) -> tuple[str, int]:
        """Return host and port of a node for a client.

        Args:
            index: Position of the node.
            dialled: Host that the client has connected to.
            port: Port that the node listens on.
        """
        if not self._nodes:
            return dialled, port
        host, mapped = self._nodes[index]
        return host, mapped or port


def parse_advertised(text: str, nodes: int) -> Advertised:
    """Parse `--advertise`: HOST, HOST:PORT, or one of them for each node, separated by commas.

    A single HOST is that of all nodes, each on the port it listens on; after a single HOST:PORT the next nodes have the
    next ports.

    Raises:
        AddressError: If the text is invalid.
    """
    if not text:
        return Advertised()
    addresses = [_host_and_port(address.strip()) for address in text.split(",")]
    if len(addresses) == 1:
        host, port = addresses[0]
        if port and port + nodes - 1 > HIGHEST_PORT:
            raise AddressError(
                f"--advertise {text}: {nodes} nodes from port {port} on need ports beyond {HIGHEST_PORT}"
            )
        addresses = [(host, port + index if port else 0) for index in range(nodes)]
    if len(addresses) != nodes:
        there_are = "there is 1 node" if nodes == 1 else f"there are {nodes} nodes"
        raise AddressError(
            f"--advertise names {len(addresses)} addresses, and {there_are}; name one address, or one for each"
        )
    return Advertised(addresses)


def _host_and_port(text: str) -> tuple[str, int]:
    bracketed = text.startswith("[") and text.endswith("]")
    if (":" in text and not bracketed and text.count(":") == 1) or "]:" in text:
        host, port = parse_address(text)
        if not port:
            raise AddressError(f"--advertise {text} sends clients to port 0; name the port they reach it by")
    else:
        host, port = text.strip("[]") if bracketed else text, 0
    if not _HOST.fullmatch(host):
        raise AddressError(f"--advertise {text} names no host; write HOST or HOST:PORT, as in localhost:19092")
    return host, port


def show_address(host: str, port: int) -> str:
    """Format HOST:PORT, with brackets around IPv6."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def reachable(host: str) -> str:
    """Return a host that a client on this machine can connect to, even if `host` means all addresses."""
    return {"0.0.0.0": "127.0.0.1", "": "127.0.0.1", "::": "::1"}.get(host, host)


def java_address(host: str) -> str:
    """Return an address as Kafka shows it in member lists: in Java's form, with a slash and IPv6 not shortened."""
    host = plain_host(host)
    if ":" not in host:
        return "/" + host
    return "/" + ":".join(f"{word:x}" for word in unpack(">8H", inet_pton(AF_INET6, host.partition("%")[0])))


def plain_host(host: str) -> str:
    """Return the IPv4 address of an IPv4 client of a socket that listens on both families."""
    return host.removeprefix("::ffff:") if host.startswith("::ffff:") and "." in host else host
