"""A client's connection to the proxy."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, cast

from kohort.broker.address import plain_host
from kohort.broker.logs import log
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


class ClientSide(asyncio.Protocol):
    """Reads nothing before its node is reached, and no faster than the node does."""

    def __init__(self, server: ProxyServer, target: Target) -> None:
        self._server = server
        self._target = target
        self._line = server.tap.line(self)
        login_seen = LoginSeen(server.principal)
        self._relay = Relay(self, server.laboratory.wants, self._line, login_seen)
        self._inspection = Inspection(self, self._relay, server.laboratory, login_seen)
        self._passes_on = False
        """Whether what the client has sent is just being passed on."""
        self._transport: asyncio.Transport | None = None
        self._cluster: ClusterSide | None = None
        self._task: asyncio.Task[None] | None = None
        """Connects to the node, or logs in anew."""
        self._renewal: asyncio.TimerHandle | None = None
        self._paused = False
        """Whether the node does not read fast enough."""
        self._renews = False
        self.host = ""
        """The client's address."""
        self._dialled = ""
        self._early = b""
        """What has come before the node was reached, or during a login."""
        self._unsent: Pieces = []
        """What a rule or a gate has let go during a login."""
        self.closed = False

    @property
    def node_id(self) -> int:
        """The node that it has come to, as far as that is known."""
        return self._target.node_id

    # See `answer_rewriting.Nodes`

    def address(self, node_id: int, host: str, port: int) -> tuple[str, int]:
        """The client finds all nodes at the host where it has found this one."""
        return self._dialled, self._server.port_of(node_id, host, port)

    def listed(self, node_ids: set[int]) -> None:
        """See `Nodes`."""
        self._server.listed(node_ids)

    # What the event loop calls

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """A client has connected."""
        self._transport = cast(asyncio.Transport, transport)
        dialled, peer = transport.get_extra_info("sockname"), transport.get_extra_info("peername")
        if not dialled or not peer:  # it has gone again before it was accepted
            self._transport.abort()
            return
        self.host, self._dialled = plain_host(peer[0]), plain_host(dialled[0])
        self._transport.set_write_buffer_limits(high=UNWRITTEN_BYTES)
        self._transport.pause_reading()
        self._server.clients.add(self)
        self._task = self._server.loop.create_task(self._connect())

    def data_received(self, data: bytes) -> None:
        """The client has sent something."""
        cluster = self._cluster
        if cluster is None or self._renews:
            self._early += data  # uvloop reads once, whatever was paused before it began
            self._read_on()
            return
        if not cluster.lost and not self.closed:
            self._pass_on(data)

    def _pass_on(self, data: bytes) -> None:
        """Passes on what the client has sent, as far as nobody wants to look at it first."""
        assert self._cluster is not None, "it is read when its node is reached"
        relay, self._passes_on = self._relay, True
        try:
            self._cluster.send(relay.requests(data))
            while relay.inspected is not None and not self.closed and self._inspection.decide(relay.inspected):
                self._cluster.send(relay.requests(b""))
        except RelayError as reason:
            self.close(str(reason))
        except Exception:
            self.fail()
        self._passes_on = False
        if relay.blocked:
            self._read_on()

    def go_on(self) -> None:
        """A request that was stopped is over, or all are answered: takes up what was left lying."""
        if self._cluster is None or self._cluster.lost or self.closed:
            return
        if not self._passes_on and not self._renews:
            self._pass_on(b"")
            self._read_on()

    def connection_lost(self, problem: Exception | None) -> None:
        """The client has hung up, or was hung up on."""
        self.closed = True
        self._line.hung_up()
        self._server.clients.discard(self)
        if self._task is not None:
            self._task.cancel()
        if self._renewal is not None:
            self._renewal.cancel()
        if self._cluster is not None:
            self._cluster.close()

    def pause_writing(self) -> None:
        """The client does not read fast enough."""
        if self._cluster is not None:
            self._cluster.pause(True)

    def resume_writing(self) -> None:
        """It has read."""
        if self._cluster is not None:
            self._cluster.pause(False)

    # What the other side says

    def answered(self, data: bytes) -> None:
        """The node has said something."""
        if self.closed:
            return
        try:
            pieces = self._relay.answers(data)
        except RelayError as reason:
            self.close(str(reason))
            return
        except Exception:
            self.fail()
            return
        self.tell(pieces)
        if self._relay.blocked and self._relay.inspected is None and not self._relay.waiting:
            self.go_on()
        if self._renews and not self._relay.waiting:
            self._renew()

    def tell(self, pieces: Pieces) -> None:
        """Writes to the client."""
        if self._transport is not None and not self._transport.is_closing():
            if len(pieces) == 1:
                self._transport.write(pieces[0])
            elif pieces:
                self._transport.writelines(pieces)

    def send(self, pieces: Pieces) -> None:
        """Writes to the node."""
        if self._cluster is not None and not self._cluster.lost:
            if self._renews:
                self._unsent += pieces
            else:
                self._cluster.send(pieces)

    def cluster_gone(self) -> None:
        """The node has hung up: so does the proxy, after what has come, be it in the middle of an answer."""
        if self._transport is not None:
            self._transport.close()

    def pause(self, paused: bool) -> None:
        """Whether the node does not read fast enough."""
        self._paused = paused
        self._read_on()

    def close(self, reason: str) -> None:
        """Hangs up; one line in the log says why."""
        if not self.closed and self._transport is not None:
            self.closed = True
            client = self.host
            log.warning(f"{client}: connection closed, {reason}", client=client, reason=reason)
            self._transport.close()

    def abort(self) -> None:
        """Hangs up at once."""
        if self._transport is not None:
            self._transport.abort()

    def _read_on(self) -> None:
        if self._transport is not None and not self._transport.is_closing():
            if self._paused or self._renews or self._cluster is None or self._relay.blocked:
                self._transport.pause_reading()
            else:
                self._transport.resume_reading()

    def fail(self) -> None:
        """Ends this connection because of our bug, which is being handled."""
        log.error("a connection was closed, passing on what was said failed, which is kohort's fault")
        self.closed = True
        self.abort()

    # Connecting, and logging in anew

    async def _connect(self) -> None:
        try:
            cluster = await self._server.connect(self._target)
        except BrokerError:  # the server has told why
            self.abort()
            return
        cluster.serves(self)
        self._cluster = cluster
        if cluster.lost or self.closed:
            cluster.close()
            self.cluster_gone()
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
        """Nothing more is asked before the proxy has logged in anew; it does when all that was asked is answered."""
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
        except OSError as problem:
            self.close(f"the proxy could not log in anew: {problem}")
            return
        self._renews = False
        self._expect_renewal()
        unsent, self._unsent = self._unsent, []
        self.send(unsent)
        early, self._early = self._early, b""
        self.data_received(early)
        self._read_on()
