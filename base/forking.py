"""Sockets of brokers and proxies that a child process made by `os.fork` must not keep.

A child has a copy of each descriptor of its parent. While the child lives, its copy of a connection hides from the
client that the broker closed it, and its copy of a listening socket lets clients connect to a broker that has ended.
This also concerns children of `multiprocessing` with the start method `fork`, but not those of `subprocess`.
"""

from __future__ import annotations

import _socket
import os
from collections.abc import Iterable
from typing import Final, Protocol

Address = tuple[str, int]

FORKED: Final = (
    "this process was forked from the one that the cluster runs in; call the cluster there, and let this process "
    "connect to it as a Kafka client"
)

_WILDCARDS: Final = {"0.0.0.0", "::"}
_DESCRIPTORS: Final = "/dev/fd"  # of this process, on Linux and macOS
_owners: set[SocketOwner] = set()
_is_hook_set = False


class SocketOwner(Protocol):
    """An object that does not work in a child, such as a server with its sockets."""

    def on_forked(self) -> Iterable[Address]:
        """Return the local addresses of the sockets to close. It is called in the child only."""
        ...


def watch_forks(owner: SocketOwner) -> None:
    """Call the `on_forked` of an owner in each child, until `unwatch_forks`."""
    global _is_hook_set
    if not _is_hook_set:
        os.register_at_fork(after_in_child=_on_forked)
        _is_hook_set = True
    _owners.add(owner)


def unwatch_forks(owner: SocketOwner) -> None:
    """Forget an owner that has closed its sockets."""
    _owners.discard(owner)


def _on_forked() -> None:
    addresses = {address for owner in _owners for address in owner.on_forked()}
    _owners.clear()
    if addresses:
        release(descriptor for descriptor in _open_descriptors() if _is_at(descriptor, addresses))


def release(descriptors: Iterable[int]) -> None:
    """Close descriptors, and keep their numbers occupied.

    Objects of the parent still have these numbers, and may close them when they are collected. A number that the child
    uses for something else by then would be closed with them.
    """
    null = os.open(os.devnull, os.O_RDWR)
    for descriptor in descriptors:
        os.dup2(null, descriptor, inheritable=False)
    os.close(null)


def _open_descriptors() -> list[int]:
    try:
        return [int(name) for name in os.listdir(_DESCRIPTORS)]
    except OSError:
        return []


def _is_at(descriptor: int, addresses: set[Address]) -> bool:
    # Not the class that the module `socket` has: a test may have replaced that one.
    try:
        inspected = _socket.socket(fileno=descriptor)
    except OSError:  # a file, or closed
        return False
    try:
        host, port = inspected.getsockname()[:2]
    except (OSError, ValueError):  # of another family
        return False
    finally:
        inspected.detach()
    return (host, port) in addresses or any((wildcard, port) in addresses for wildcard in _WILDCARDS)
