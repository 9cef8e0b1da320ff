"""Ports of the proxy: one for the whole cluster, and one for each node that a response has named."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final, cast

from kohort.base.address import reachable, show_address
from kohort.base.clock import Clock
from kohort.base.forking import Address, unwatch_forks, watch_forks
from kohort.base.logs import log
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
    from kohort.proxy.observed.observed_groups import ObservedGroups

BACKLOG: Final = 1_024

KEEP_ALIVE: Final = {"TCP_KEEPIDLE": 60, "TCP_KEEPINTVL": 10, "TCP_KEEPCNT": 3}
"""Seconds without traffic before the first probe and between probes, and how many may remain unanswered."""


class ProxyServer:
    """Server that accepts clients for the nodes of one cluster."""

    def __init__(
        self,
        bootstrap: Sequence[tuple[str, int]],
        loop: asyncio.AbstractEventLoop,
        clock: Clock,
        security: Security = OPEN,
        chosen_ports: Mapping[int, int] | None = None,
    ) -> None:
        """Set up a proxy that does not listen yet.

        Args:
            chosen_ports: Ports by node id; other nodes get any free one.

        Raises:
            SecurityError: A certificate or key can't be used.
        """
        self.loop = loop
        self.clients: set[ClientSide] = set()
        principal = before_login(security)
        self.principal = UNSEEN if principal is None else principal  # of clients before their own login
        self.laboratory = ProxyLaboratory(loop, clock, lambda: self.nodes, principal)
        self.tap = Tap(clock.now_us)
        self.scheduler = FairScheduler(loop, clock, lambda: None, lambda _: None)
        self.paused = PausedReading(cast(Any, LoopTimers(loop, clock)), clock)  # clients whose sockets are not read
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
        """Address for clients on this machine."""
        return show_address(reachable(self._host), self.port)

    @property
    def port(self) -> int:
        """Port for the whole cluster."""
        return int(self._sockets[self._bootstrap][0].getsockname()[1])

    @property
    def nodes(self) -> list[int]:
        """Sorted ids of the nodes that have a port."""
        return sorted(self._targets)

    async def listen(self, host: str, port: int) -> None:
        """Accept clients. Raise ListenError if the port, or one chosen for a node, is taken."""
        self._host = host
        for chosen in self._chosen_ports.values():
            for listening in bind(host, chosen):
                listening.close()
        watch_forks(self)
        self._listen(self._bootstrap, port)
        await asyncio.gather(*self._accepting)

    async def reach(self) -> None:
        """Check that the cluster responds and accepts the proxy's login. Raise BrokerError otherwise."""
        (await self._first_of(self._bootstrap, probes=True)).close()

    def look_at_groups(self) -> ObservedGroups:
        """Observe groups from the first call on."""
        if self.laboratory.seen is None:
            from kohort.proxy.asking import log_ends
            from kohort.proxy.group_questions import group_answers
            from kohort.proxy.observed.observed_groups import ObservedGroups

            ends, answers = partial(log_ends, self), partial(group_answers, self)
            self.laboratory.seen = ObservedGroups(
                self.loop, self._clock, self.tap, self.laboratory.waiters, ends, answers
            )
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

    # Interface for clients' connections

    async def connect(self, target: Target) -> ClusterSide:
        """Return a connection to a node, or to any of several. Raise BrokerError, and log its first occurrence."""
        try:
            return await self._first_of(target)
        except BrokerError as error:
            if target.last_error != str(error):
                target.last_error = str(error)
                log.warning(f"cannot reach {target.name}: {error}", target=target.name)
            raise

    async def side_for_questions(self, address: tuple[str, int] | None = None) -> ClusterSide:
        target = self._bootstrap if address is None else Target("the node", [address])
        return await self._first_of(target, probes=True)

    async def _first_of(self, target: Target, *, probes: bool = False) -> ClusterSide:
        """Return a connection to the first address that works. Raise BrokerError with the reason for each address."""
        errors: list[str] = []
        for address in list(target.addresses):
            try:
                side = await connect(address, self._security, self._context, probes=probes)
            except BrokerError as error:
                errors.append(f"{show_address(*address)}: {error}")
            else:
                self._reached(target, address)
                return side
        raise BrokerError("; ".join(errors))

    def _reached(self, target: Target, address: tuple[str, int]) -> None:
        if target.last_error:
            target.last_error = ""
            log.info(f"{target.name} can be reached again", target=target.name)
        if len(target.addresses) > 1 and address in target.addresses:
            target.answered(address)

    def port_of(self, node_id: int, host: str, port: int) -> int:
        """Return the proxy's port for a node. Raise RelayError if none is available."""
        try:
            return self._targets.port(node_id, host, port)
        except ListenError as error:
            raise RelayError(f"cannot listen for node {node_id}: {error}") from None

    def listed(self, node_ids: set[int]) -> None:
        self._targets.listed(node_ids, self._clock.now_ms())

    # Ports

    def _open(self, target: Target) -> int:
        if target is not self._bootstrap:
            self._listen(target, self._chosen_ports.get(target.node_id, 0))
        port = int(self._sockets[target][0].getsockname()[1])
        log.info(f"{target} is at port {port}", target=target.name, port=port)
        return port

    def _listen(self, target: Target, port: int) -> None:
        """Bind and listen at once: a client that receives the port may dial before the event loop accepts."""
        sockets = self._sockets[target] = bind(self._host, port)
        self._addresses[target] = [bound.getsockname()[:2] for bound in sockets]
        for listening in sockets:
            _keep_alive(listening)
            listening.listen(BACKLOG)
        task = self.loop.create_task(self._accept(target, sockets))
        self._accepting.add(task)
        task.add_done_callback(self._accepting.discard)

    async def _accept(self, target: Target, sockets: list[socket.socket]) -> None:
        servers = self._servers.setdefault(target, [])
        for listening in sockets:
            servers.append(
                await self.loop.create_server(lambda: ClientSide(self, target), sock=listening, backlog=BACKLOG)
            )
        if target not in self._sockets:  # closed in the meantime
            self._close(target)

    def _close(self, target: Target) -> None:
        for server in self._servers.pop(target, ()):
            server.close()
        self._addresses.pop(target, None)
        for listening in self._sockets.pop(target, ()):
            listening.close()


def _keep_alive(listening: socket.socket) -> None:
    """Enable keepalive probes: a closed connection is not noticed while unread bytes precede its end."""
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for option, value in KEEP_ALIVE.items():
        if hasattr(socket, option):  # not on every system; accepted sockets inherit them
            listening.setsockopt(socket.IPPROTO_TCP, getattr(socket, option), value)
