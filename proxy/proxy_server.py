"""The proxy's ports: one that stands for the whole cluster, and one for each node that an answer has named."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final, cast

from kohort.broker.address import reachable, show_address
from kohort.broker.clock import Clock
from kohort.broker.forking import Address, unwatch_forks, watch_forks
from kohort.broker.logs import log
from kohort.broker.runtime.server import ListenError, bind
from kohort.broker.scheduling.fair_scheduler import FairScheduler
from kohort.broker.scheduling.paused_reading import PausedReading
from kohort.client.client_connection import BrokerError
from kohort.client.security import OPEN, Security
from kohort.proxy.client_side import ClientSide
from kohort.proxy.cluster_side import ClusterSide, connect
from kohort.proxy.login_seen import UNSEEN, before_login
from kohort.proxy.loop_timers import LoopTimers
from kohort.proxy.node_ports import Target, Targets
from kohort.proxy.proxy_laboratory import ProxyLaboratory
from kohort.proxy.relay_error import RelayError
from kohort.proxy.tap import Tap

if TYPE_CHECKING:
    from kohort.proxy.seen.groups_passing import SeenGroups

BACKLOG: Final = 1_024

KEEP_ALIVE: Final = {"TCP_KEEPIDLE": 60, "TCP_KEEPINTVL": 10, "TCP_KEEPCNT": 3}
"""Seconds without traffic before the first probe and between probes, and how many may remain unanswered."""


class ProxyServer:
    """Accepts clients for the nodes of one cluster."""

    def __init__(
        self,
        bootstrap: Sequence[tuple[str, int]],
        loop: asyncio.AbstractEventLoop,
        clock: Clock,
        security: Security = OPEN,
        chosen_ports: Mapping[int, int] | None = None,
    ) -> None:
        """`chosen_ports`: of nodes that are not to have any free one, by id.

        Raises SecurityError when certificates or the key can't be used.
        """
        self.loop = loop
        self.clients: set[ClientSide] = set()
        principal = before_login(security)
        self.principal = UNSEEN if principal is None else principal
        """Who clients are before they log in themselves."""
        self.laboratory = ProxyLaboratory(loop, clock, lambda: self.nodes, principal)
        self.tap = Tap(clock.now_us)
        self.scheduler = FairScheduler(loop, clock, lambda: None, lambda _: None)
        self.paused = PausedReading(cast(Any, LoopTimers(loop, clock)), clock)
        """The clients whose sockets are not read."""
        self._clock = clock
        self._security = security
        self._context = security.context() if security.tls else None
        self._bootstrap = Target("the cluster", bootstrap)
        self._chosen_ports = chosen_ports or {}
        self._targets = Targets(self._bootstrap, self._open, self._close, self._chosen_ports)
        self._host = ""
        self._sockets: dict[Target, list[socket.socket]] = {}
        # Kept, because a forked child can't ask sockets that it may have closed already.
        self._addresses: dict[Target, list[Address]] = {}
        self._servers: dict[Target, list[asyncio.Server]] = {}
        self._accepting: set[asyncio.Task[None]] = set()

    @property
    def address(self) -> str:
        """Where clients on this machine begin, once it listens."""
        return show_address(reachable(self._host), self.port)

    @property
    def port(self) -> int:
        """The port of the whole cluster."""
        return int(self._sockets[self._bootstrap][0].getsockname()[1])

    @property
    def nodes(self) -> list[int]:
        """The ids of nodes that have a port, sorted."""
        return sorted(self._targets)

    async def listen(self, host: str, port: int) -> None:
        """Accepts clients. Raises ListenError, also where a port is taken that was chosen for a node."""
        self._host = host
        for chosen in self._chosen_ports.values():
            for each in bind(host, chosen):
                each.close()
        watch_forks(self)
        self._listen(self._bootstrap, port)
        await asyncio.gather(*self._accepting)

    async def reach(self) -> None:
        """Looks whether the cluster is there and lets the proxy in. Raises BrokerError, a sentence."""
        (await self._first_of(self._bootstrap, asks=True)).close()

    def look_at_groups(self) -> SeenGroups:
        """Sees groups in what passes, from the first call on."""
        if self.laboratory.seen is None:
            from kohort.proxy.asking import log_ends
            from kohort.proxy.group_questions import group_answers
            from kohort.proxy.seen.groups_passing import SeenGroups

            ends, answers = partial(log_ends, self), partial(group_answers, self)
            self.laboratory.seen = SeenGroups(self.loop, self._clock, self.tap, self.laboratory.waiters, ends, answers)
        return self.laboratory.seen

    def on_forked(self) -> list[Address]:
        """Return the local addresses of the sockets that a forked child must close."""
        return [address for addresses in self._addresses.values() for address in addresses]

    def stop(self) -> None:
        """Close all listening sockets and abort all connections."""
        unwatch_forks(self)
        if self.laboratory.seen is not None:
            self.laboratory.seen.close()
        for target in list(self._sockets):
            self._close(target)
        for client in list(self.clients):
            client.abort()

    # What clients' connections ask

    async def connect(self, target: Target) -> ClusterSide:
        """A connection to a node, or to any of several. Raises BrokerError; the log says why, once."""
        try:
            return await self._first_of(target)
        except BrokerError as problem:
            if target.away != str(problem):
                target.away = str(problem)
                log.warning(f"{target.name} can't be reached; {problem}", target=target.name)
            raise

    async def side_for_questions(self, address: tuple[str, int] | None = None) -> ClusterSide:
        """A connection that is no client's, to a node or to any. Raises BrokerError."""
        target = self._bootstrap if address is None else Target("the node", [address])
        return await self._first_of(target, asks=True)

    async def _first_of(self, target: Target, *, asks: bool = False) -> ClusterSide:
        """A connection to the first that lets us in. Raises BrokerError, which says of each why it does not."""
        problems: list[str] = []
        for address in list(target.addresses):
            try:
                side = await connect(address, self._security, self._context, asks=asks)
            except BrokerError as problem:
                problems.append(f"{show_address(*address)}: {problem}")
            else:
                self._reached(target, address)
                return side
        raise BrokerError("; ".join(problems))

    def _reached(self, target: Target, address: tuple[str, int]) -> None:
        if target.away:
            target.away = ""
            log.info(f"{target.name} can be reached again", target=target.name)
        if len(target.addresses) > 1 and address in target.addresses:
            target.answered(address)

    def port_of(self, node_id: int, host: str, port: int) -> int:
        """The port here of a node that is at an address now. Raises RelayError."""
        try:
            return self._targets.port(node_id, host, port)
        except ListenError as problem:
            raise RelayError(f"there is no port for node {node_id}: {problem}") from None

    def listed(self, node_ids: set[int]) -> None:
        """An answer has listed all nodes that run."""
        self._targets.listed(node_ids, self._clock.now_ms())

    # Ports

    def _open(self, target: Target) -> int:
        if target is not self._bootstrap:
            self._listen(target, self._chosen_ports.get(target.node_id, 0))
        port = int(self._sockets[target][0].getsockname()[1])
        log.info(f"{target} is at port {port}", target=target.name, port=port)
        return port

    def _listen(self, target: Target, port: int) -> None:
        """Binds and listens at once: whoever is told the port may dial it before the event loop comes round."""
        sockets = self._sockets[target] = bind(self._host, port)
        self._addresses[target] = [bound.getsockname()[:2] for bound in sockets]
        for each in sockets:
            _keep_alive(each)
            each.listen(BACKLOG)
        task = self.loop.create_task(self._accept(target, sockets))
        self._accepting.add(task)
        task.add_done_callback(self._accepting.discard)

    async def _accept(self, target: Target, sockets: list[socket.socket]) -> None:
        servers = self._servers.setdefault(target, [])
        for each in sockets:
            servers.append(await self.loop.create_server(lambda: ClientSide(self, target), sock=each, backlog=BACKLOG))
        if target not in self._sockets:  # it was closed meanwhile
            self._close(target)

    def _close(self, target: Target) -> None:
        for server in self._servers.pop(target, ()):
            server.close()
        self._addresses.pop(target, None)
        for each in self._sockets.pop(target, ()):
            each.close()


def _keep_alive(listening: socket.socket) -> None:
    """Let the system probe accepted connections: the end of a client is not received behind bytes that are not read."""
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for option, value in KEEP_ALIVE.items():
        if hasattr(socket, option):  # not on every system; accepted sockets inherit them
            listening.setsockopt(socket.IPPROTO_TCP, getattr(socket, option), value)
