"""Check whether other machines can reach a listening address."""

from __future__ import annotations

import socket
from ipaddress import ip_address


def is_loopback(host: str) -> bool:
    """Return whether only this machine can reach a server that listens at `host`; False if that is unknown."""
    try:
        addresses = socket.getaddrinfo(host or None, None, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except (OSError, UnicodeError):
        return False
    return all(ip_address(str(address[0]).partition("%")[0]).is_loopback for *_, address in addresses)
