"""Connection of a client to the proxy."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final, cast

from kohort.base.address import plain_host
from kohort.base.logs import log
from kohort.broker.scheduling.fair_scheduler import COUNTED_NS, LITTLE_NS
from kohort.broker.scheduling.served import Served
from kohort.client.client_connection import BrokerError
from kohort.proxy.answer_rewriting import Pieces
from kohort.proxy.cluster_side import UNWRITTEN_BYTES, ClusterSide
from kohort.proxy.inspection import Inspection
from kohort.proxy.login_seen import LoginSeen
from kohort.proxy.relay import Relay
from kohort.proxy.relay_error import RelayError

if TYPE_CHECKING:
    from kohort.proxy.node_ports import Target
    from kohort.proxy.proxy_server import ProxyServer


TURN_US: Final = 2_000  # longest turn of one connection

SHORT_TURN_US: Final = 250  # the same while other connections wait for a turn


class ClientSide(Served, asyncio.Protocol):
    """Connection of a client and its counterpart to a node.

    The client is not read before the node is reached, while the node reads too slowly, while the client does not read
    what it was sent, and while what it has sent cannot be worked on (`Relay.blocked`).
    """

    def __init__(self, server: ProxyServer, target: Target) -> None:
        self._server = server
        self._target = target
        self._line = server.tap.line(self)
        login_seen = LoginSeen(server.principal)
        self._relay = Relay(self, server.laboratory.wants, self._line, login_seen)
        self._inspection = Inspection(self, self._relay, server.laboratory, login_seen)
        self.load_ns = LITTLE_NS + 1  # as in the broker: assume that a new connection is costly
        self._in_turn = False  # whether requests are being passed on right now
        self._is_queued = False
        self._is_reading = False
        self._transport: asyncio.Transport | None = None
        self._cluster: ClusterSide | None = None
        self._task: asyncio.Task[None] | None = None  # connects to the node, or renews the login
        self._renewal: asyncio.TimerHandle | None = None
        self._paused = False  # whether the node reads too slowly
        self._is_unread = False  # whether the client reads too slowly
        self._node_has_closed = False  # whether to close after the client has received everything
        self._renews = False
        self.host = ""  # address of the client
        self._dialled = ""
        self._early = b""  # received before the node was connected, or during a login
        self._unsent: Pieces = []  # released by a rule or a gate during a login
        self.closed = False

    @property
    def node_id(self) -> int:
        """The node that the client connected to; -1 if unknown."""
        return self._target.node_id

    # See `answer_rewriting.Nodes`

    def address(self, node_id: int, host: str, port: int) -> tuple[str, int]:
        """Return the host that the client dialled with the proxy's port for the node."""
        return self._dialled, self._server.port_of(node_id, host, port)

    def listed(self, node_ids: set[int]) -> None:
        self._server.listed(node_ids)

    # Callbacks of the event loop

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        dialled, peer = transport.get_extra_info("sockname"), transport.get_extra_info("peername")
        if not dialled or not peer:  # closed before it was accepted
            self._transport.abort()
            return
        self.host, self._dialled = plain_host(peer[0]), plain_host(dialled[0])
        self._transport.set_write_buffer_limits(high=UNWRITTEN_BYTES)
        self._transport.pause_reading()
        self._server.clients.add(self)
        self._task = self._server.loop.create_task(self._connect())

    def data_received(self, data: bytes) -> None:
        cluster, scheduler = self._cluster, self._server.scheduler
        if cluster is None or self._renews:
            self._early += data  # uvloop reads once even if reading was paused before
            self._read_on()
            return
        if cluster.lost or self.closed:
            return
        if (
            self._is_queued
            or self._paused
            or self._is_unread
            or (scheduler.spent_ns and scheduler.is_full(self.load_ns))
        ):
            self._relay.keep_requests(data)
            self._enqueue()
            self._read_on()
            return
        before_ns = scheduler.now_ns()
        self._pass_on(data, before_ns + self._turn_ns)
        self._note(before_ns)

    @property
    def _turn_ns(self) -> int:
        return 1_000 * (SHORT_TURN_US if self._server.scheduler else TURN_US)

    def _note(self, before_ns: int) -> None:
        """Count the time since `before_ns` as spent on this connection."""
        scheduler = self._server.scheduler
        took_ns = scheduler.now_ns() - before_ns
        if took_ns > COUNTED_NS:
            scheduler.spend(took_ns)
        if took_ns > COUNTED_NS or self.load_ns > LITTLE_NS:
            scheduler.note(self, took_ns)

    def _pass_on(self, data: bytes, until_ns: int) -> None:
        """Pass on requests slice by slice, up to one that a rule or gate takes."""
        assert self._cluster is not None, "it is read when its node is reached"
        relay, now_ns, self._in_turn = self._relay, self._server.scheduler.now_ns, True
        try:
            pieces = relay.requests(data)
            while relay.inspected is not None or relay.has_more_requests:
                if relay.inspected is not None:
                    self._cluster.send(pieces)
                    pieces = []
                    if self.closed or not self._inspection.decide(relay.inspected):
                        break
                elif not self._may_pass_on or now_ns() >= until_ns:
                    break
                else:
                    pieces += relay.requests(b"")
            self._cluster.send(pieces)
        except RelayError as reason:
            self.close(str(reason))
        except Exception:
            self.fail()
        self._in_turn = False
        if relay.blocked or relay.has_more_requests or not self._is_reading:
            self._enqueue()
            self._read_on()

    @property
    def _may_pass_on(self) -> bool:
        """Whether the other requests that the client has sent may be worked on."""
        cluster = self._cluster
        is_open = cluster is not None and not cluster.lost and not self.closed
        return is_open and not (self._paused or self._is_unread or self._renews)

    def _enqueue(self) -> None:
        """Schedule a turn if there is work that can be done now."""
        relay = self._relay
        has_answers = relay.has_more_answers and not self._is_unread
        if not self._is_queued and (has_answers or (relay.has_more_requests and self._may_pass_on)):
            self._is_queued = True
            self._server.scheduler.enqueue(self)

    def go_on(self, now_ms: int) -> None:
        self._is_queued = False
        if self.closed:
            return
        until_ns = self._server.scheduler.now_ns() + self._turn_ns
        if self._relay.has_more_answers and not self._is_unread:
            self._hand_back(b"", until_ns)
        self.continue_requests(until_ns)
        self._enqueue()

    def continue_requests(self, until_ns: int | None = None) -> None:
        """Pass on waiting requests if possible."""
        if self._may_pass_on and not self._in_turn:
            self._pass_on(b"", self._server.scheduler.now_ns() + self._turn_ns if until_ns is None else until_ns)

    def connection_lost(self, error: Exception | None) -> None:
        self.closed = True
        self._line.on_close()
        self._server.clients.discard(self)
        self._server.paused.discard(self)
        if self._task is not None:
            self._task.cancel()
        if self._renewal is not None:
            self._renewal.cancel()
        if self._cluster is not None:
            self._cluster.close()
        self._relay.close()
        self._early, self._unsent = b"", []

    def pause_writing(self) -> None:
        self._is_unread = True
        self._read_node()
        self._read_on()

    def resume_writing(self) -> None:
        self._is_unread = False
        self._read_node()
        self._enqueue()
        self._read_on()

    # Callbacks of the node's connection

    def on_node_data(self, data: bytes) -> None:
        if self.closed:
            return
        scheduler = self._server.scheduler
        if self._relay.has_more_answers or (scheduler.spent_ns and scheduler.is_full(self.load_ns)):
            self._relay.keep_answers(data)
            self._enqueue()
            self._read_node()
            return
        before_ns = scheduler.now_ns()
        self._hand_back(data, before_ns + self._turn_ns)
        self._note(before_ns)

    def _hand_back(self, data: bytes, until_ns: int) -> None:
        """Pass on responses of the node slice by slice."""
        relay, now_ns = self._relay, self._server.scheduler.now_ns
        try:
            pieces = relay.answers(data)
            while relay.has_more_answers and not self.closed and not self._is_unread and now_ns() < until_ns:
                pieces += relay.answers(b"")
            self.write_client(pieces)
        except RelayError as reason:
            self.close(str(reason))
            return
        except Exception:
            self.fail()
            return
        if self._node_has_closed:
            self.on_node_closed()
            return
        if relay.has_more_answers or not data:
            self._read_node()
        if relay.has_more_answers or relay.has_more_requests:
            self._enqueue()
        if self._renews and not relay.waiting:
            self._renew()

    def write_client(self, pieces: Pieces) -> None:
        """Write to the client."""
        if self._transport is not None and not self._transport.is_closing():
            if len(pieces) == 1:
                self._transport.write(pieces[0])
            elif pieces:
                self._transport.writelines(pieces)

    def send(self, pieces: Pieces) -> None:
        """Write to the node."""
        if self._cluster is not None and not self._cluster.lost:
            if self._renews:
                self._unsent += pieces
            else:
                self._cluster.send(pieces)

    def on_node_closed(self) -> None:
        """Close the connection after the received responses, even in the middle of one."""
        self._node_has_closed = True
        if self._transport is not None and not self._relay.has_more_answers:
            self._transport.close()

    def pause(self, paused: bool) -> None:
        self._paused = paused
        self._enqueue()
        self._read_on()

    def close(self, reason: str) -> None:
        """Close the connection and log the reason."""
        if not self.closed and self._transport is not None:
            self.closed = True
            client = self.host
            log.warning(f"{client}: connection closed, {reason}", client=client, reason=reason)
            self._transport.close()

    def abort(self) -> None:
        if self._transport is not None:
            self._transport.abort()

    def _read_on(self) -> None:
        """Resume or pause reading from the client, depending on whether its requests could be passed on."""
        if self._transport is None or self._transport.is_closing():
            return
        relay = self._relay
        if not self._may_pass_on or relay.blocked or relay.has_more_requests:
            self._is_reading = False
            self._transport.pause_reading()
            self._server.paused.add(self)
        elif not self._is_reading:
            self._is_reading = True
            self._transport.resume_reading()
            self._server.paused.discard(self)

    def _read_node(self) -> None:
        """Resume or pause reading from the node, depending on whether the client reads its responses."""
        if self._cluster is not None:
            self._cluster.pause(self._is_unread or self._relay.has_more_answers)

    # Interface of `PausedReading`

    @property
    def socket_number(self) -> int:
        """File descriptor of the client's socket, or -1 if it is closed."""
        transport_socket = None if self._transport is None else self._transport.get_extra_info("socket")
        return -1 if transport_socket is None else int(transport_socket.fileno())

    @property
    def held_bytes(self) -> int:
        """Number of bytes that the client has sent and that have not been processed."""
        return self._relay.held_bytes + len(self._early)

    def read_on(self) -> None:
        """Resume reading although requests can't be passed on yet, to detect a closed connection."""
        if self._transport is not None and not self._transport.is_closing() and not self._is_reading:
            self._transport.resume_reading()

    def fail(self) -> None:
        """Abort the connection because of the exception being handled, a bug of the proxy."""
        log.error("closed a connection because of a bug in kohort's proxy")
        self.closed = True
        self.abort()

    # Connecting, and renewing the login

    async def _connect(self) -> None:
        try:
            cluster = await self._server.connect(self._target)
        except BrokerError:  # the server has logged the reason
            self.abort()
            return
        cluster.serves(self)
        self._cluster = cluster
        if cluster.lost or self.closed:
            cluster.close()
            self.on_node_closed()
            return
        self._expect_renewal()
        early, self._early = self._early, b""
        if early:
            self.data_received(early)
        self._read_on()

    def _expect_renewal(self) -> None:
        session_s = None if self._cluster is None else self._cluster.session_s
        if session_s is not None:
            self._renewal = self._server.loop.call_later(session_s, self._renewal_due)

    def _renewal_due(self) -> None:
        """Hold back new requests, and renew the login as soon as no response is outstanding."""
        self._renews = True
        self._read_on()
        if not self._relay.waiting:
            self._renew()

    def _renew(self) -> None:
        if self._task is None or self._task.done():
            self._task = self._server.loop.create_task(self._log_in_again())

    async def _log_in_again(self) -> None:
        assert self._cluster is not None, "it has been logged in before"
        try:
            await self._cluster.log_in_again()
        except OSError as error:
            self.close(f"the proxy could not renew its login: {error}")
            return
        self._renews = False
        self._expect_renewal()
        unsent, self._unsent = self._unsent, []
        self.send(unsent)
        early, self._early = self._early, b""
        self.data_received(early)
        self._read_on()
