"""A client's connection: splits received bytes into frames, handles one request at a time, and writes responses.

A request that must wait parks the connection: the requests behind it are not handled before it has a response, as
Kafka mutes a channel. So responses are in order.
"""

from __future__ import annotations

import asyncio
from struct import Struct
from typing import TYPE_CHECKING, Any, Final, cast

from kohort.base.address import java_address, plain_host
from kohort.base.logs import log
from kohort.broker.runtime.listener import PLAINTEXT_LISTENER, Listener
from kohort.broker.scheduling.connection_limits import LARGE_REPLY, REPLIES_TOGETHER, UNREAD_BYTES, WAITING_BYTES
from kohort.broker.scheduling.fair_scheduler import COUNTED_NS, JOINS, LITTLE_NS
from kohort.broker.scheduling.served import Served
from kohort.broker.ticket import Ticket
from kohort.security.principal import ANONYMOUS

if TYPE_CHECKING:
    from collections.abc import Callable

    from kohort.broker.cluster.node import Node
    from kohort.broker.runtime.server import Server
    from kohort.broker.scheduling.cooperative import Task
    from kohort.protocol.codec import Frame
    from kohort.security.sasl.login import Login

# Bits of `_obstacles`: reasons not to handle the next request.
PARKED: Final = 1  # a request waits for its response
UNREAD: Final = 2  # the client does not read its responses
QUEUED: Final = 4  # it is the turn of other connections
CLOSED: Final = 8

UNPARKED: Final = object()  # pending instead of a response to a request without one

_SIZE: Final = Struct(">i")


class Connection(Served):
    """Splits frames, keeps the order, and writes once per turn. The dispatcher handles the requests."""

    __slots__ = (
        "_listener",
        "_obstacles",
        "_out",
        "_owed",
        "_reading_paused",
        "_received",
        "_transport",
        "_when_gone",
        "_work",
        "_work_ends_with_me",
        "client_host",
        "client_software",
        "frame_max_bytes",
        "handle",
        "heard_at_ms",
        "in_turn",
        "listener",
        "listener_name",
        "login",
        "node",
        "principal",
        "server",
        "shortcuts",
    )

    def __init__(self, server: Server, node: Node, listener: Listener = PLAINTEXT_LISTENER) -> None:
        self.server = server
        self.node = node
        # receives each frame: the dispatcher, or the gate for a client that must log in
        self.handle: Callable[[Connection, bytes, int, int], None] = server.dispatcher.handle
        self.frame_max_bytes = server.request_max_bytes
        self.login: Login | None = None
        self.heard_at_ms = 0  # time of the last read or write, for `connections.max.idle.ms`
        self.in_turn = False
        self.load_ns = LITTLE_NS + 1  # its load is unknown yet
        self.client_host = ""
        self.client_software: str | None = None
        self.shortcuts = server.shortcuts  # recognizes repeated requests
        self.listener = ("", 0)
        self.listener_name = listener.name
        self.principal = ANONYMOUS
        self._received: bytes | bytearray = b""
        self._out: list[bytes | memoryview] = []
        self._obstacles = 0
        self._reading_paused = False
        # the response to a parked request, until it is written
        self._owed: tuple[Ticket, object] | object | None = None
        self._when_gone: Callable[[], object] | None = None  # cancels what the current request waits for
        self._work: Task[Any] | None = None  # a long request, as far as it has been handled
        self._work_ends_with_me = False
        self._listener = listener
        if listener.new_login is not None:
            self.login = listener.new_login()
            self.handle, self.frame_max_bytes = server.gate.handle, server.gate.frame_max_bytes

    @property
    def closed(self) -> bool:
        return self._obstacles >= CLOSED

    @property
    def node_id(self) -> int:
        return self.node.id

    @property
    def parked(self) -> bool:
        return bool(self._obstacles & PARKED)

    @property
    def client(self) -> str:
        return self.client_host.removeprefix("/")

    @property
    def socket_number(self) -> int:
        return int(self._transport.get_extra_info("socket").fileno())

    @property
    def held_bytes(self) -> int:
        return len(self._received)

    # Called by the event loop

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._transport.set_write_buffer_limits(high=UNREAD_BYTES)
        peer, dialled = transport.get_extra_info("peername"), transport.get_extra_info("sockname")
        if not peer or not dialled:  # disconnected before it was accepted
            self._obstacles |= CLOSED
            self._transport.abort()
            return
        self.client_host = java_address(peer[0])
        self.listener = (plain_host(dialled[0]), dialled[1])
        self.heard_at_ms = self.server.clock.now_ms()
        refusal = self.server.admit(self)
        if self._listener.principal_of is not None and not refusal:
            try:
                self.principal = self._listener.principal_of(transport.get_extra_info("ssl_object"))
            except ValueError as problem:
                refusal = f"its certificate has no principal: {problem}"
        if refusal:
            self.close(refusal)

    def connection_lost(self, error: Exception | None) -> None:
        """Release what belongs to a connection that either side has closed.

        A member of a group stays in it; its response will be dropped.
        """
        self._obstacles |= CLOSED
        self._received = b""
        self._out.clear()
        self._owed = None
        self.shortcuts = self.server.shortcuts
        self._let_go()
        if self._work_ends_with_me:
            self._work = None
        self.server.paused.discard(self)
        self.server.forget(self)

    def data_received(self, data: bytes) -> None:
        server = self.server
        scheduler = server.scheduler
        before_ns = scheduler.now_ns()
        zero_ns = scheduler.zero_ns
        now_ms = server.clock.now_ms() if zero_ns is None else (before_ns - zero_ns) // 1_000_000
        self.heard_at_ms = now_ms
        size = len(data) - 4
        if (
            self._obstacles
            or (scheduler.spent_ns and scheduler.is_full(self.load_ns))
            or (size > 1 and data[5] in JOINS and scheduler.many())
        ):
            self._wait_with(data)
            return
        self.in_turn = True
        try:
            if not self._received and 0 < size == _SIZE.unpack_from(data)[0] <= self.frame_max_bytes:
                # Usually exactly one frame, because clients wait for their responses.
                self.handle(self, data, now_ms, 4)
            else:
                self._received += data  # copies nothing if nothing was buffered
                self._handle_received(now_ms)
        except Exception:
            self.fail()
        self.in_turn = False
        if server.woken:
            self.write()
            server.end_turn(now_ms)
        took_ns = scheduler.now_ns() - before_ns
        if self._out:
            server.writes.write_soon(self)  # not counted: it may include writes of other connections
        if took_ns > COUNTED_NS:
            scheduler.spend(took_ns)
            server.writes.write()
        if took_ns > COUNTED_NS or self.load_ns > LITTLE_NS:
            scheduler.note(self, took_ns)

    def eof_received(self) -> None:
        """Let the event loop close the connection, since the client sends nothing more."""

    def pause_writing(self) -> None:
        self._obstacles |= UNREAD
        self.server.unread.note(self, self._transport.get_write_buffer_size())

    def resume_writing(self) -> None:
        self._obstacles &= ~UNREAD
        self.server.unread.note(self)
        self._wake()

    # Called by the rest of the broker

    def answer(self, ticket: Ticket, response: object) -> None:
        self._when_gone = None
        if self._obstacles >= CLOSED:
            return
        if self.in_turn and self._work is None:
            self._obstacles &= ~PARKED
            self.server.dispatcher.respond(self, ticket, response)
        else:
            # The group's coordinator is still in a call: the next request must not be handled before it returns.
            self._owed = ticket, response
            self._obstacles |= PARKED
            self.server.woken.append(self)

    def when_gone(self, action: Callable[[], object]) -> None:
        self._when_gone = action

    def park(self) -> None:
        """Handle no further requests until the current one has a response."""
        self._obstacles |= PARKED

    def answer_and_close(self, ticket: Ticket, response: object | None, reason: str) -> None:
        self._when_gone = None
        if self._obstacles < CLOSED and response is not None:
            self.server.dispatcher.respond(self, ticket, response)
        self.close(reason)

    def unpark(self) -> None:
        self._owed = UNPARKED
        self.server.woken.append(self)

    def take_up(self, ticket: Ticket, steps: Task[Any]) -> None:
        """Resume a parked request in steps. For a disconnected client of a read-only request nothing is done."""
        ends_with_me = ticket.api.may_be_abandoned
        if not (self.closed and ends_with_me):
            self.work_on(self.server.dispatcher.in_steps(self, ticket, steps), ends_with_me=ends_with_me)

    def work_on(self, work: Task[Any], *, ends_with_me: bool) -> None:
        """Begin a long request.

        Args:
            ends_with_me: Whether it is cancelled when the client disconnects.
        """
        self._work, self._work_ends_with_me = work, ends_with_me
        self._obstacles = (self._obstacles & ~PARKED) | QUEUED
        if self.in_turn:
            self.server.writes.write()
            self._carry_on(self.server.scheduler.end_ns())
        else:
            self.server.scheduler.enqueue(self)

    def send(self, frame: bytes) -> None:
        """Send a frame at the end of the turn."""
        out = self._out
        out.append(frame)
        if len(frame) >= LARGE_REPLY or len(out) == REPLIES_TOGETHER:
            self.write()

    def send_frame(self, frame: Frame) -> None:
        """Send a frame that may consist of several buffers, which are passed to the system without a copy."""
        if isinstance(frame, bytes):
            self.send(frame)
        elif not self.closed:
            self.write()
            self._transport.writelines(frame)

    def go_on(self, now_ms: int) -> None:
        if self._obstacles >= CLOSED and self._work is None:
            return
        self._obstacles &= ~QUEUED
        self.in_turn = True
        until_ns = 0
        try:
            if self._work is not None:
                until_ns = self.server.scheduler.end_ns()
                self._carry_on(until_ns)
                self.server.dispatcher.settle(now_ms)
            owed = self._owed
            if owed is not None:
                self._owed = None
                self._obstacles &= ~PARKED
                if isinstance(owed, tuple):
                    self.server.dispatcher.respond(self, *owed)
            if self._received and not self._obstacles:
                self._handle_received(now_ms, until_ns)
            if self._out:
                self.heard_at_ms = now_ms
                self.write()
            if self._reading_paused and not self._obstacles:
                # The rest is the beginning of a request, which only this socket can complete.
                self.server.paused.discard(self)
                self.read_on()
        except Exception:
            self.fail()
        self.in_turn = False

    def read_on(self) -> None:
        if self._reading_paused and not self.closed:
            self._reading_paused = False
            self._transport.resume_reading()

    def write(self) -> None:
        out = self._out
        if not out:
            return
        try:
            if self._obstacles < CLOSED:
                self._transport.write(out[0] if len(out) == 1 else b"".join(out))
            out.clear()
        except Exception:
            self.fail()

    def close(self, reason: str) -> None:
        """Close the connection after pending responses, and log the reason."""
        if self.closed:
            return
        log.info(f"{self.client}: connection closed, {reason}", client=self.client, reason=reason)
        self._received = b""
        self.write()
        self._obstacles |= CLOSED
        self._transport.close()
        self._let_go()

    def abort(self) -> None:
        self._obstacles |= CLOSED
        self._transport.abort()

    def fail(self) -> None:
        """Close this connection only, because of the exception that is being handled."""
        log.error(f"{self.client}: connection closed, internal error in kohort while serving this connection")
        self.abort()

    def _let_go(self) -> None:
        action, self._when_gone = self._when_gone, None
        if action is not None:
            action()

    def _wait_with(self, data: bytes) -> None:
        """Keep the data until the next request can be handled, or until the next turn if nothing prevents that."""
        if self.closed:
            return
        if isinstance(self._received, bytearray):
            self._received += data
        else:
            self._received = bytearray(self._received) + data if self._received else data
        if len(self._received) > WAITING_BYTES and not self._reading_paused:
            self._reading_paused = True
            self.server.paused.add(self)
            self._transport.pause_reading()
        if not self._obstacles:
            self._obstacles |= QUEUED
            self.server.scheduler.enqueue(self)

    def _carry_on(self, until_ns: int) -> None:
        assert self._work is not None
        now_ns = self.server.scheduler.now_ns
        for _ in self._work:
            if now_ns() >= until_ns:
                self._obstacles |= QUEUED
                self.server.scheduler.enqueue(self)
                return
        self._work = None
        self._obstacles &= ~QUEUED

    def _handle_received(self, now_ms: int, until_ns: int = 0) -> None:
        """Handle requests one after the other, until one has to wait, or the turn ends at `until_ns`."""
        received = self._received
        at, available = 0, len(received)
        if type(received) is bytes and 4 < available == _SIZE.unpack_from(received)[0] + 4 <= self.frame_max_bytes + 4:
            # One complete request, which is not copied: it has waited for its turn, or is large and arrived in parts.
            self._received = b""
            self.handle(self, received, now_ms, 4)
            return
        scheduler = self.server.scheduler
        now_ns = scheduler.now_ns
        until_ns = until_ns or scheduler.end_ns()
        while available - at >= 4:
            (size,) = _SIZE.unpack_from(received, at)
            if not 0 < size <= self.frame_max_bytes:
                self._refuse_size(size)
                return
            start, end = at + 4, at + 4 + size
            if end > available:
                break
            at = end
            if type(received) is not bytes:
                self.handle(self, bytes(memoryview(received)[start:end]), now_ms, 0)
            else:
                self.handle(self, received[start:end], now_ms, 0)
            if self._obstacles:
                break
            if at < available and now_ns() >= until_ns:
                self._obstacles |= QUEUED
                self.server.scheduler.enqueue(self)
                break
        if self.closed or at == available:
            self._received = b""
        elif isinstance(received, bytearray):
            del received[:at]  # moves a pointer, copies nothing
        else:
            self._received = bytearray(memoryview(received)[at:])

    def _refuse_size(self, size: int) -> None:
        if self.login is not None and self.server.gate.refuses_size(self, size):
            return
        self.close(f"a request of {size} bytes (socket.request.max.bytes is {self.frame_max_bytes})")

    def _wake(self) -> None:
        if self._obstacles & QUEUED:
            return
        now_ms = self.server.clock.now_ms()
        self.go_on(now_ms)
        self.server.end_turn(now_ms)
