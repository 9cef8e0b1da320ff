"""Nodes of the cluster, collected from its responses, with the port of the proxy for each."""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterator, Sequence
from typing import Final

from kohort.base.address import HIGHEST_PORT, AddressError, show_address

FORGOTTEN_MS: Final = 600_000
"""How long a node that responses no longer list keeps its port, so that a restarted node keeps its clients."""

NO_NODE: Final = -1

_CHOSEN: Final = re.compile(r"(\d{1,9})(?:-(\d{1,9}))?=(\d{1,5})", re.ASCII)
MAX_CHOSEN_PORTS: Final = 1_000  # ports that one argument may choose; each is bound at once


def chosen_ports(arguments: Sequence[str]) -> dict[int, int]:
    """Return the ports chosen by `2=19094` (node 2) and `0-5=19093` (nodes 0 to 5 on consecutive ports).

    Raises:
        AddressError: An argument is malformed, or chooses a port twice.
    """
    chosen: dict[int, int] = {}
    for argument in arguments:
        match = _CHOSEN.fullmatch(argument)
        first, last, port = (0, -1, 0) if match is None else (int(match[1]), int(match[2] or match[1]), int(match[3]))
        if not 0 <= last - first < MAX_CHOSEN_PORTS or not 0 < port <= port + last - first <= HIGHEST_PORT:
            raise AddressError(f"expected NODE=PORT, as in 2=19094, or NODES=PORT, as in 0-5=19093; got {argument}")
        for node_id in range(first, last + 1):
            at = port + node_id - first
            if node_id in chosen or at in chosen.values():
                raise AddressError(f"{argument} repeats node {node_id} or its port")
            chosen[node_id] = at
    return chosen


class Target:
    """Counterpart of a port: one node, or the first bootstrap address that responds."""

    def __init__(self, name: str, addresses: Sequence[tuple[str, int]], node_id: int = NO_NODE) -> None:
        self.name = name
        self.node_id = node_id
        self.addresses = list(addresses)
        self.last_error = ""  # why the last attempt to connect failed; empty after a success

    def answered(self, address: tuple[str, int]) -> None:
        """Move an address that works to the front."""
        self.addresses.remove(address)
        self.addresses.insert(0, address)

    def __str__(self) -> str:
        return f"{self.name} ({','.join(show_address(*address) for address in self.addresses)})"


class Targets:
    """All nodes seen so far, by id."""

    def __init__(
        self,
        bootstrap: Target,
        opened: Callable[[Target], int],
        closed: Callable[[Target], None],
        chosen: Container[int] = (),
    ) -> None:
        """Set up the targets.

        Args:
            bootstrap: The target of the node with its address, if it has only one address.
            opened: Bind a port for a new target and return it; for the bootstrap, return its port.
            closed: Release the port.
            chosen: Nodes that have ports of their own in any case.
        """
        self._bootstrap = bootstrap
        self._opened = opened
        self._closed = closed
        self._chosen = chosen
        self._nodes: dict[int, Target] = {}
        self._ports: dict[int, int] = {}
        self._missing_since_ms: dict[int, int] = {}

    def __iter__(self) -> Iterator[int]:
        return iter(self._nodes)

    def port(self, node_id: int, host: str, port: int) -> int:
        """Return the proxy's port for a node, which it keeps when its address changes."""
        target = self._nodes.get(node_id)
        if target is None:
            target = self._new(node_id, (host, port))
            self._ports[node_id] = self._opened(target)
            self._nodes[node_id] = target
        elif target.addresses != [(host, port)]:
            target.addresses = [(host, port)]
        self._missing_since_ms.pop(node_id, None)
        return self._ports[node_id]

    def _new(self, node_id: int, address: tuple[str, int]) -> Target:
        is_bootstrap = node_id not in self._chosen and self._bootstrap.addresses == [address]
        if is_bootstrap and self._bootstrap not in self._nodes.values():
            self._bootstrap.node_id = node_id
            return self._bootstrap
        return Target(f"node {node_id}", [address], node_id)

    def listed(self, node_ids: set[int], now_ms: int) -> None:
        """Note that a response has listed all running nodes, and drop those that have been missing for long."""
        for node_id in self._nodes.keys() - node_ids:
            if now_ms - self._missing_since_ms.setdefault(node_id, now_ms) >= FORGOTTEN_MS:
                target = self._nodes.pop(node_id)
                if target is not self._bootstrap:
                    self._closed(target)
                del self._ports[node_id], self._missing_since_ms[node_id]
