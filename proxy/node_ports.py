"""The nodes of the cluster as they are known from its answers, and the port that each has here."""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterator, Sequence
from typing import Final

from kohort.broker.address import HIGHEST_PORT, AddressError, show_address

FORGOTTEN_MS: Final = 600_000
"""How long a node keeps its port that answers list no more: one that restarts finds its clients again."""

NO_NODE: Final = -1

_CHOSEN: Final = re.compile(r"(\d{1,9})(?:-(\d{1,9}))?=(\d{1,5})", re.ASCII)
MOST_CHOSEN: Final = 1_000
"""Nodes whose ports one word may choose: each takes a port at once."""


def chosen_ports(words: Sequence[str]) -> dict[int, int]:
    """The ports that `2=19094` (node 2) and `0-5=19093` (node 0, and the next on the ports after that) choose.

    Raises AddressError for what chooses none, or one twice.
    """
    chosen: dict[int, int] = {}
    for word in words:
        found = _CHOSEN.fullmatch(word)
        first, last, port = (0, -1, 0) if found is None else (int(found[1]), int(found[2] or found[1]), int(found[3]))
        if not 0 <= last - first < MOST_CHOSEN or not 0 < port <= port + last - first <= HIGHEST_PORT:
            raise AddressError(f"{word} chooses no port; write NODE=PORT, as in 2=19094, or of several nodes 0-5=19093")
        for node_id in range(first, last + 1):
            at = port + node_id - first
            if node_id in chosen or at in chosen.values():
                raise AddressError(f"{word} chooses a port of node {node_id} that is chosen already")
            chosen[node_id] = at
    return chosen


class Target:
    """Whom a port of the proxy stands for: a node, or whoever answers first at the addresses of the bootstrap."""

    def __init__(self, name: str, addresses: Sequence[tuple[str, int]], node_id: int = NO_NODE) -> None:
        self.name = name
        self.node_id = node_id
        self.addresses = list(addresses)
        self.away = ""
        """Why nobody could be reached when it was last tried; empty: it could."""

    def answered(self, address: tuple[str, int]) -> None:
        """One of its addresses works: it is the first to be tried next time."""
        self.addresses.remove(address)
        self.addresses.insert(0, address)

    def __str__(self) -> str:
        return f"{self.name} ({','.join(show_address(*each) for each in self.addresses)})"


class Targets:
    """All nodes that have been seen, by their ids."""

    def __init__(
        self,
        bootstrap: Target,
        opened: Callable[[Target], int],
        closed: Callable[[Target], None],
        chosen: Container[int] = (),
    ) -> None:
        """`bootstrap`: stands for the node that has its address, if it has one address.

        `opened`: makes a port for a new target, and returns it; of the bootstrap that which it has. `closed`: gives the
        port back. `chosen`: nodes that have ports of their own in any case.
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
        """The port here of a node that is at an address now. It keeps its port when it moves."""
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
        """An answer has listed all nodes that run. One that has been missing for long is forgotten."""
        for node_id in self._nodes.keys() - node_ids:
            if now_ms - self._missing_since_ms.setdefault(node_id, now_ms) >= FORGOTTEN_MS:
                target = self._nodes.pop(node_id)
                if target is not self._bootstrap:
                    self._closed(target)
                del self._ports[node_id], self._missing_since_ms[node_id]
