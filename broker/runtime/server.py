"""Sockets, and the single timer of the process."""

from __future__ import annotations

import asyncio
import errno
import socket
from collections import Counter, deque
from contextlib import suppress
from functools import partial
from resource import RLIMIT_NOFILE, getrlimit
from typing import TYPE_CHECKING, Final, cast

from kohort.base.address import show_address
from kohort.base.forking import unwatch_forks, watch_forks
from kohort.broker.cluster.effect_execution import perform
from kohort.broker.runtime.connection import Connection
from kohort.broker.runtime.dispatch import Dispatcher
from kohort.broker.runtime.listener import PLAINTEXT_LISTENER, Listener
from kohort.broker.runtime.unread import Unread
from kohort.broker.scheduling.fair_scheduler import ROUND_US, FairScheduler
from kohort.broker.scheduling.paused_reading import PausedReading
from kohort.broker.scheduling.served import Served
from kohort.broker.scheduling.write_batching import WriteBatch
from kohort.broker.shortcuts import shortcuts
from kohort.purgatory import DelayedOperation

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from kohort.base.forking import Address
    from kohort.broker.cluster.broker_cluster import BrokerCluster
    from kohort.broker.cluster.node import Node
    from kohort.broker.runtime.login_gate import LoginGate
    from kohort.broker.runtime.registry import Registry

# Maximum interval of the search for idle connections; it is at most a quarter of `connections.max.idle.ms`.
LONGEST_SWEEP_MS: Final = 60_000

LATE_US: Final = 200_000  # a timer that fires later than this shows that the process was stopped, or had no processor

# How long sockets are read then before anything expires. Kafka's network threads read while its timer catches up.
READING_S: Final = 0.05

# maximum number of operations that expire in a turn: sessions of a large group expire together
DUE_AT_ONCE: Final = 500

DUE_BEFORE_CHECK: Final = 4  # how many of them complete before the elapsed time is checked

DESCRIPTORS_KEPT: Final = 64  # file descriptors reserved for importing modules and opening log files

HANDSHAKE_S: Final = 10.0  # timeout of a TLS handshake

_EXAMPLE: Final = "use an address of this machine, as in --listen 127.0.0.1:9092"


class ListenError(Exception):
    """An address that cannot be listened on. The text is one sentence that contains the solution."""


class Server:
    """Accepts connections for all nodes, and completes operations in the purgatory when they are due."""

    def __init__(self, cluster: BrokerCluster, registry: Registry, loop: asyncio.AbstractEventLoop) -> None:
        self.cluster = cluster
        self.clock = cluster.clock
        self.loop = loop
        self.dispatcher = Dispatcher(cluster, registry)
        self.shortcuts = shortcuts()
        self.request_max_bytes = cluster.settings.socket_request_max_bytes
        self.connections: set[Connection] = set()
        self.paused = PausedReading(cluster.purgatory, cluster.clock)
        self.unread = Unread(cluster)
        # maximum number of open files and sockets; the system assigns the lowest free number
        self.descriptors = getrlimit(RLIMIT_NOFILE)[0]
        self.writes = WriteBatch(loop)
        self.scheduler = FairScheduler(loop, cluster.clock, self.writes.write, self._round_over)
        # connections whose parked request got its response; they continue at the end of the turn
        self.woken: deque[Served] = deque()
        self._per_address: Counter[str] = Counter()
        self.listeners: Sequence[Listener] = ()  # those of each node; set when they listen
        self._open: dict[int, list[asyncio.Server]] = {}  # listening servers by node id; none for a stopped node
        # local addresses of all listening sockets, and so of the connections that they accepted
        self._addresses: set[Address] = set()
        # sockets of stopped nodes, which reserve their ports and refuse connections
        self._kept: dict[int, list[socket.socket]] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._armed_for_ms: int | None = None
        self._rings_at_ns = 0  # due time of the timer, on the machine's clock
        self._reads_first = False  # whether the timer fired too late, and sockets are read before anything expires
        self._ticking = False
        self._gate: LoginGate | None = None
        cluster.on_wakeup_changed = self._arm
        cluster.soon = self._soon
        if cluster.settings.connections_max_idle_ms >= 0:
            sweep = IdleSweep(self)
            cluster.housekeeping.append(sweep)
            sweep.start(self.clock.now_ms())
        self._arm()

    # Listening

    @property
    def gate(self) -> LoginGate:
        """The authentication gate, created for the first client that must log in."""
        if self._gate is None:
            from kohort.broker.runtime.login_gate import LoginGate

            self._gate = LoginGate(self.cluster, self.dispatcher.registry, self.dispatcher.handle)
        return self._gate

    async def listen(self, host: str, port: int) -> None:
        """Listen on plain connections for every node, on consecutive ports from `port` on; 0 selects free ones."""
        await self.listen_on([Listener(host=host, port=port)])

    async def listen_on(self, listeners: Sequence[Listener]) -> None:
        """Listen on several listeners for every node. The first one determines the nodes' ports.

        Raises:
            ListenError: If an address cannot be listened on.
        """
        self.listeners = listeners
        bound = []
        for number, node in enumerate(self.cluster.nodes):
            for listener in listeners:
                sockets = bind(listener.host, listener.port + number if listener.port else 0)
                node.listens(listener.name, sockets[0].getsockname()[1])
                self._addresses.update(socket_.getsockname()[:2] for socket_ in sockets)
                bound.append((node, listener, sockets))
        watch_forks(self)
        # No client is accepted before all ports are known, because clients look up all nodes first.
        for node, listener, sockets in bound:
            await self._accept(node, listener, sockets)

    async def _accept(self, node: Node, listener: Listener, sockets: list[socket.socket]) -> None:
        plain = listener.tls is None and listener.new_login is None and listener.name == PLAINTEXT_LISTENER.name
        accept = partial(Connection, self, node) if plain else partial(Connection, self, node, listener)
        # A Connection implements asyncio.Protocol without inheriting from it: see "Wheels" in CONTRIBUTING.md.
        protocols = cast("Callable[[], asyncio.Protocol]", accept)
        open_ = self._open.setdefault(node.id, [])
        for sock in sockets:
            open_.append(
                await self.loop.create_server(
                    protocols,
                    sock=sock,
                    backlog=self.cluster.settings.socket_listen_backlog_size,
                    ssl=listener.tls,
                    ssl_handshake_timeout=None if listener.tls is None else HANDSHAKE_S,
                )
            )

    def on_forked(self) -> set[Address]:
        """Return the local addresses of the sockets that a forked child must close."""
        return self._addresses

    def stop(self) -> None:
        unwatch_forks(self)
        for listeners in self._open.values():
            for listener in listeners:
                listener.close()
        for node_id in list(self._kept):
            self._let_go(node_id)
        for node in self.cluster.nodes:
            node.forget_share_partitions()
        for connection in list(self.connections):
            connection.abort()
        if self._timer is not None:
            self._timer.cancel()

    # Stopping and starting nodes

    def stop_node(self, node: Node) -> None:
        """Stop accepting on one node and close its connections, after its partitions have moved to other nodes.

        So its waiting clients first get a response that makes them look for the new leader, as in Kafka's controlled
        shutdown.
        """
        from kohort.broker.cluster.moving import stop_node  # imported only if a node stops

        self.act(partial(stop_node, self.cluster, node))
        for listener in self._open.pop(node.id, ()):
            listener.close()
        self._keep_ports(node)
        for connection in [server for server in self.connections if server.node is node]:
            connection.close(f"node {node.id} is stopped")

    async def start_node(self, node: Node) -> None:
        """Listen again on the node's previous ports.

        Raises:
            ListenError: If a port is taken.
        """
        self._let_go(node.id)
        for listener in self.listeners:
            await self._accept(node, listener, bind(listener.host, node.ports[listener.name]))
        self.node_started(node)

    def _keep_ports(self, node: Node) -> None:
        """Bind a stopped node's ports without listening.

        Otherwise the system may assign such a port to another socket, even to the client end of a connection: a client
        that retries to connect to this node could connect to itself.
        """
        kept = self._kept.setdefault(node.id, [])
        for listener in self.listeners:
            with suppress(ListenError):  # the port was taken meanwhile; starting the node will report it
                kept += bind(listener.host, node.ports[listener.name])

    def _let_go(self, node_id: int) -> None:
        for sock in self._kept.pop(node_id, ()):
            sock.close()

    def node_started(self, node: Node) -> None:
        from kohort.broker.cluster.moving import start_node

        self.act(partial(start_node, self.cluster, node))

    def act(self, action: Callable[[int], None]) -> None:
        """Call an action with the time, outside of a request, and execute its effects."""
        self.writes.write()
        now_ms = self.clock.now_ms()
        try:
            action(now_ms)
        finally:
            perform(self.cluster, now_ms)
            self.end_turn(now_ms)

    def _soon(self, action: Callable[[int], None]) -> None:
        self.loop.call_soon(partial(self.act, action))

    # Called by connections

    def admit(self, connection: Connection) -> str | None:
        """Register a new connection. Return the reason if it exceeds a limit."""
        settings = self.cluster.settings
        self.connections.add(connection)
        self._per_address[connection.client_host] += 1
        if len(self.connections) > settings.max_connections:
            return f"there are {settings.max_connections} already (max.connections)"
        if self._per_address[connection.client_host] > settings.max_connections_per_ip:
            return f"there are {settings.max_connections_per_ip} from its address already (max.connections.per.ip)"
        if connection.socket_number >= self.descriptors - DESCRIPTORS_KEPT:
            return (
                f"this process may open {self.descriptors} files and sockets, and keeps {DESCRIPTORS_KEPT} of them for "
                "its own; raise the limit (ulimit -n) before you start it"
            )
        return None

    def forget(self, connection: Connection) -> None:
        self.unread.note(connection)
        connection.node.client_gone(connection)
        if connection in self.connections:
            self.connections.remove(connection)
            self._per_address[connection.client_host] -= 1
            if not self._per_address[connection.client_host]:
                del self._per_address[connection.client_host]

    def end_turn(self, now_ms: int) -> None:
        woken = self.woken
        if woken:
            self.scheduler.serve(woken, now_ms)
            while woken:
                self.scheduler.enqueue(woken.popleft())

    def _round_over(self, now_ms: int) -> None:
        perform(self.cluster, now_ms)
        self.end_turn(now_ms)

    # Time

    def _arm(self) -> None:
        """Set the timer to the purgatory's next wakeup, if that is earlier."""
        if self._ticking or self._reads_first:
            return
        due_ms = self.cluster.purgatory.next_wakeup_ms
        if due_ms is None or (self._armed_for_ms is not None and self._armed_for_ms <= due_ms):
            return
        if self._timer is not None:
            self._timer.cancel()
        delay_s = self.clock.seconds_until(due_ms)
        if delay_s is None:
            self._timer = self._armed_for_ms = None
            return
        self._armed_for_ms = due_ms
        self._rings_at_ns = self.clock.machine_ns() + round(delay_s * 1_000_000_000)
        self._timer = self.loop.call_later(delay_s, self._tick)

    def rearm(self) -> None:
        """Reset the timer after the clock was changed."""
        self._reads_first = False
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self._armed_for_ms = None
        self._arm()

    def _tick(self) -> None:
        self._timer = self._armed_for_ms = None
        is_late = self.clock.machine_ns() - self._rings_at_ns > LATE_US * 1_000
        if is_late and not self._reads_first:
            # The process was stopped, but its clients were not: heartbeats they have sent extend their sessions.
            self._reads_first = True
            self._timer = self.loop.call_later(READING_S, self._tick)
            return
        self._reads_first = False
        self.advance(self.clock.now_ms(), DUE_AT_ONCE)

    def advance(self, now_ms: int, at_most: int | None = None) -> None:
        """Complete operations that are due at `now_ms`, and execute their effects.

        Args:
            at_most: Maximum number of them to complete now; the rest follows soon.
        """
        self.writes.write()
        self._ticking = True
        try:
            if at_most is None:
                self.cluster.purgatory.advance(now_ms)
                perform(self.cluster, now_ms)
            else:
                self._advance_for_a_round(now_ms, at_most)
            self.end_turn(now_ms)
        finally:
            self._ticking = False
            self._arm()

    def _advance_for_a_round(self, now_ms: int, at_most: int) -> None:
        """Complete what is due, for at most as long as a round of the scheduler takes. The rest waits for the timer."""
        purgatory, now_ns = self.cluster.purgatory, self.scheduler.now_ns
        until_ns = now_ns() + ROUND_US * 1_000
        while at_most > 0:
            at_most -= DUE_BEFORE_CHECK
            purgatory.advance(now_ms, DUE_BEFORE_CHECK)
            perform(self.cluster, now_ms)
            next_ms = purgatory.next_wakeup_ms
            if next_ms is None or next_ms > now_ms or now_ns() >= until_ns:
                return


class IdleSweep(DelayedOperation):
    """Closes connections that have been idle for `connections.max.idle.ms`: a scan of all, not a timer for each."""

    __slots__ = ("_interval_ms", "_limit_ms", "_server")

    def __init__(self, server: Server) -> None:
        super().__init__(0)
        self._server = server
        self._limit_ms = server.cluster.settings.connections_max_idle_ms
        self._interval_ms = max(min(LONGEST_SWEEP_MS, self._limit_ms // 4), 1)

    def start(self, now_ms: int) -> None:
        self.deadline_ms = now_ms + self._interval_ms
        self.completed = False
        self._server.cluster.purgatory.wait(self)

    def on_complete(self, now_ms: int, *, expired: bool) -> None:
        self.start(now_ms)
        for connection in list(self._server.connections):
            if now_ms - connection.heard_at_ms >= self._limit_ms:
                if connection.closed:
                    connection.abort()  # closed already, but the client does not read its last responses
                else:
                    connection.close(f"idle for {self._limit_ms} ms (connections.max.idle.ms)")


def bind(host: str, port: int) -> list[socket.socket]:
    """Return listening sockets for every address of `host`, all on one port.

    Raises:
        ListenError: If an address cannot be listened on.
    """
    try:
        # A str would be encoded by the codec idna, which takes as long to import as two of our modules.
        name = host.encode() if host.isascii() else host
        addresses = socket.getaddrinfo(name or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except (socket.gaierror, UnicodeError, OverflowError) as error:
        reason = getattr(error, "strerror", None) or error
        raise ListenError(f"cannot listen on {host}: {reason}; {_EXAMPLE}") from None
    sockets: list[socket.socket] = []
    for family, kind, _, _, address in dict.fromkeys(addresses):
        chosen = sockets[0].getsockname()[1] if sockets else port
        try:
            sockets.append(_bind(family, kind, (address[0], chosen, *address[2:])))
        except OSError as error:
            # A name may have addresses of a family that this machine does not support; one that works is enough.
            if sockets and error.errno != errno.EADDRINUSE:
                continue
            for sock in sockets:
                sock.close()
            raise ListenError(_advice(host, port, error)) from None
    return sockets


def _bind(family: int, kind: int, address: tuple[object, ...]) -> socket.socket:
    sock = socket.socket(family, kind)
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            # `::` accepts IPv4 and IPv6, a single address only its own family.
            sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0 if address[0] == "::" else 1)
        sock.bind(address)
        sock.setblocking(False)
    except BaseException:
        sock.close()
        raise
    return sock


def _advice(host: str, port: int, error: OSError) -> str:
    listed = show_address(host, port)
    if error.errno == errno.EADDRINUSE:
        free = show_address(host, 0)
        return f"{listed} is in use; stop the process that listens there, or use another port ({free}: any free one)"
    if error.errno == errno.EACCES:
        return f"{listed} cannot be listened on without privileges; use a port from 1024 on"
    return f"cannot listen on {listed}: {error.strerror}; {_EXAMPLE}"
