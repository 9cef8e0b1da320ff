"""Sockets, and the one timer of the process."""

from __future__ import annotations

import asyncio
import errno
import socket
from collections import Counter, deque
from contextlib import suppress
from functools import partial
from resource import RLIMIT_NOFILE, getrlimit
from typing import TYPE_CHECKING, Final, cast

from kohort.broker.address import show_address
from kohort.broker.cluster.effect_execution import perform
from kohort.broker.forking import unwatch_forks, watch_forks
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

    from kohort.broker.cluster.broker_cluster import BrokerCluster
    from kohort.broker.cluster.node import Node
    from kohort.broker.forking import Address
    from kohort.broker.runtime.login_gate import LoginGate
    from kohort.broker.runtime.registry import Registry

LONGEST_SWEEP_MS: Final = 60_000
"""Idle connections are looked for this often, or four times in `connections.max.idle.ms` when that is more often."""

LATE_US: Final = 200_000
"""A timer that rings later than this says that the process stood still: it was stopped, or had no processor."""

READING_S: Final = 0.05
"""How long sockets are read then before anything expires. Kafka's network threads read while its timer catches up."""

DUE_AT_ONCE: Final = 500
"""At most this many of those whose time is up are looked at in a turn: sessions of a large group end together."""

DUE_BEFORE_CHECK: Final = 4
"""Of those, how many complete before the elapsed time is checked."""

DESCRIPTORS_KEPT: Final = 64
"""A process that has no descriptors left can't load what it needs for the first time, nor open a log's file."""

HANDSHAKE_S: Final = 10.0
"""How long a TLS handshake may take; a client that stalls in one is hung up on then."""

_EXAMPLE: Final = "give an address of this machine, as in --listen 127.0.0.1:9092"


class ListenError(Exception):
    """An address that cannot be listened on. The text is one sentence that says what to do."""


class Server:
    """Accepts connections for all nodes, and calls the purgatory when something in it falls due."""

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
        self.descriptors = getrlimit(RLIMIT_NOFILE)[0]
        """How many files and sockets the process may have open; the system gives the lowest number that is free."""
        self.writes = WriteBatch(loop)
        self.scheduler = FairScheduler(loop, cluster.clock, self.writes.write, self._round_over)
        self.woken: deque[Served] = deque()
        """Connections whose waiting request was answered from outside; they go on when the turn ends."""
        self._per_address: Counter[str] = Counter()
        self.listeners: Sequence[Listener] = ()
        """Those that each node has; known when they are listened on."""
        self._open: dict[int, list[asyncio.Server]] = {}
        """What listens, by node id; a node that is stopped has none."""
        self._addresses: set[Address] = set()
        """The local addresses of all listening sockets, hence also of the connections that they accepted."""
        self._kept: dict[int, list[socket.socket]] = {}
        """The sockets of nodes that are stopped, one list a node. They have the ports, and refuse connections."""
        self._timer: asyncio.TimerHandle | None = None
        self._armed_for_ms: int | None = None
        self._rings_at_ns = 0
        """When the timer is to ring, on the machine's clock."""
        self._reads_first = False
        """Whether the timer rang too late, and sockets are read before anything expires."""
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
        """What stands before the dispatcher where clients have to log in; made for the first of them."""
        if self._gate is None:
            from kohort.broker.runtime.login_gate import LoginGate

            self._gate = LoginGate(self.cluster, self.dispatcher.registry, self.dispatcher.handle)
        return self._gate

    async def listen(self, host: str, port: int) -> None:
        """Lets every node accept plain connections, on consecutive ports from `port` on, or on free ones if it is 0."""
        await self.listen_on([Listener(host=host, port=port)])

    async def listen_on(self, listeners: Sequence[Listener]) -> None:
        """Lets every node accept connections on several listeners, of which the first gives the nodes their ports.

        Raises ListenError.
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
        # Nobody is accepted before all ports are known: the first question a client asks is where the others are.
        for node, listener, sockets in bound:
            await self._accept(node, listener, sockets)

    async def _accept(self, node: Node, listener: Listener, sockets: list[socket.socket]) -> None:
        plain = listener.tls is None and listener.new_login is None and listener.name == PLAINTEXT_LISTENER.name
        accept = partial(Connection, self, node) if plain else partial(Connection, self, node, listener)
        # A Connection lacks nothing but the base: see "Wheels" in CONTRIBUTING.md.
        protocols = cast("Callable[[], asyncio.Protocol]", accept)
        open_ = self._open.setdefault(node.id, [])
        for each in sockets:
            open_.append(
                await self.loop.create_server(
                    protocols,
                    sock=each,
                    backlog=self.cluster.settings.socket_listen_backlog_size,
                    ssl=listener.tls,
                    ssl_handshake_timeout=None if listener.tls is None else HANDSHAKE_S,
                )
            )

    def on_forked(self) -> set[Address]:
        """Return the local addresses of the sockets that a forked child must close."""
        return self._addresses

    def stop(self) -> None:
        """Close all listening sockets and abort all connections."""
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

    # Nodes that come and go

    def stop_node(self, node: Node) -> None:
        """One node accepts nobody any more and hangs up on everybody, after others have taken over what it led.

        So whoever waits at it hears first to look elsewhere, as in Kafka's controlled shutdown.
        """
        from kohort.broker.cluster.moving import stop_node  # not for those whose nodes stay

        self.act(partial(stop_node, self.cluster, node))
        for listener in self._open.pop(node.id, ()):
            listener.close()
        self._keep_ports(node)
        for connection in [each for each in self.connections if each.node is node]:
            connection.close(f"node {node.id} is stopped")

    async def start_node(self, node: Node) -> None:
        """It listens again, on the ports it had. Raises ListenError if one is taken."""
        self._let_go(node.id)
        for listener in self.listeners:
            await self._accept(node, listener, bind(listener.host, node.ports[listener.name]))
        self.node_started(node)

    def _keep_ports(self, node: Node) -> None:
        """Binds a stopped node's ports without listening.

        Else the system may give such a port to somebody else, as the near end of a connection too: even to a client
        that dials this very node again and again, and so reaches itself.
        """
        kept = self._kept.setdefault(node.id, [])
        for listener in self.listeners:
            with suppress(ListenError):  # somebody was quicker; whoever starts the node hears of it
                kept += bind(listener.host, node.ports[listener.name])

    def _let_go(self, node_id: int) -> None:
        for each in self._kept.pop(node_id, ()):
            each.close()

    def node_started(self, node: Node) -> None:
        """It is part of the cluster again; see `start_node`."""
        from kohort.broker.cluster.moving import start_node

        self.act(partial(start_node, self.cluster, node))

    def act(self, action: Callable[[int], None]) -> None:
        """Lets something happen that no client has asked for, and what follows from it. `action` gets the time."""
        self.writes.write()
        now_ms = self.clock.now_ms()
        try:
            action(now_ms)
        finally:
            perform(self.cluster, now_ms)
            self.end_turn(now_ms)

    def _soon(self, action: Callable[[int], None]) -> None:
        self.loop.call_soon(partial(self.act, action))

    # What connections ask

    def admit(self, connection: Connection) -> str | None:
        """Takes a new connection in. Returns the reason when there is no room for it."""
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
        """A connection is gone."""
        self.unread.note(connection)
        connection.node.client_gone(connection)
        if connection in self.connections:
            self.connections.remove(connection)
            self._per_address[connection.client_host] -= 1
            if not self._per_address[connection.client_host]:
                del self._per_address[connection.client_host]

    def end_turn(self, now_ms: int) -> None:
        """Lets connections go on whose requests have been answered meanwhile."""
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
        """Sets the timer for the purgatory's next wakeup, when that is earlier than what it is set for."""
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
        """Sets the timer anew: the clock goes otherwise than it did."""
        self._reads_first = False
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self._armed_for_ms = None
        self._arm()

    def _tick(self) -> None:
        self._timer = self._armed_for_ms = None
        late = self.clock.machine_ns() - self._rings_at_ns > LATE_US * 1_000
        if late and not self._reads_first:
            # The process stood still. Its clients did not: what they have sent meanwhile keeps their sessions.
            self._reads_first = True
            self._timer = self.loop.call_later(READING_S, self._tick)
            return
        self._reads_first = False
        self.advance(self.clock.now_ms(), DUE_AT_ONCE)

    def advance(self, now_ms: int, at_most: int | None = None) -> None:
        """Does what is due until `now_ms`, and what follows from it. `at_most`: so much now, and the rest soon."""
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
    """Closes connections that have been silent for `connections.max.idle.ms`; one look at all, not a timer for each."""

    __slots__ = ("_interval_ms", "_limit_ms", "_server")

    def __init__(self, server: Server) -> None:
        super().__init__(0)
        self._server = server
        self._limit_ms = server.cluster.settings.connections_max_idle_ms
        self._interval_ms = max(min(LONGEST_SWEEP_MS, self._limit_ms // 4), 1)

    def start(self, now_ms: int) -> None:
        """Sweeps for the first time one interval from now."""
        self.deadline_ms = now_ms + self._interval_ms
        self.completed = False
        self._server.cluster.purgatory.wait(self)

    def on_complete(self, now_ms: int, *, expired: bool) -> None:
        """Comes back later, and looks at every connection."""
        self.start(now_ms)
        for connection in list(self._server.connections):
            if now_ms - connection.heard_at_ms >= self._limit_ms:
                if connection.closed:
                    connection.abort()  # it was hung up on, and does not read what it is still owed
                else:
                    connection.close(f"it was silent for {self._limit_ms} ms (connections.max.idle.ms)")


def bind(host: str, port: int) -> list[socket.socket]:
    """Listening sockets for every address that `host` stands for, all on one port. Raises ListenError."""
    try:
        # As text it would be encoded by a codec that takes as long to load as two of our modules.
        name = host.encode() if host.isascii() else host
        found = socket.getaddrinfo(name or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except (socket.gaierror, UnicodeError, OverflowError) as problem:
        reason = getattr(problem, "strerror", None) or problem
        raise ListenError(f"cannot listen on {host}: {reason}; {_EXAMPLE}") from None
    sockets: list[socket.socket] = []
    for family, kind, _, _, address in dict.fromkeys(found):
        chosen = sockets[0].getsockname()[1] if sockets else port
        try:
            sockets.append(_bind(family, kind, (address[0], chosen, *address[2:])))
        except OSError as problem:
            # A name may stand for addresses of a family that this machine does not speak; one that works is enough.
            if sockets and problem.errno != errno.EADDRINUSE:
                continue
            for each in sockets:
                each.close()
            raise ListenError(_advice(host, port, problem)) from None
    return sockets


def _bind(family: int, kind: int, address: tuple[object, ...]) -> socket.socket:
    made = socket.socket(family, kind)
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            # `::` serves both families, a single address only its own.
            made.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0 if address[0] == "::" else 1)
        made.bind(address)
        made.setblocking(False)
    except BaseException:
        made.close()
        raise
    return made


def _advice(host: str, port: int, problem: OSError) -> str:
    where = show_address(host, port)
    if problem.errno == errno.EADDRINUSE:
        free = show_address(host, 0)
        return f"{where} is in use; stop what listens there, or choose another port ({free}: any free one)"
    if problem.errno == errno.EACCES:
        return f"{where} is not ours to listen on; take a port from 1024 on"
    return f"cannot listen on {where}: {problem.strerror}; {_EXAMPLE}"
