"""Authentication gate: handles requests until a client has logged in, then passes its connection to the dispatcher.

A connection whose login is complete and whose session never expires bypasses it.
"""

from __future__ import annotations

from struct import Struct
from typing import TYPE_CHECKING, Protocol

from kohort.broker.apis.failed_login import fail_late
from kohort.broker.runtime.error_response import error_response
from kohort.broker.scheduling.offloaded_decoding import READ_AT_ONCE
from kohort.broker.ticket import ParkableRequester, Ticket
from kohort.protocol.errors import DecodeError, ErrorCode
from kohort.protocol.headers import read_header
from kohort.security.sasl.login import FailedLogin, State, Verdict

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from kohort.broker.cluster.broker_cluster import BrokerCluster
    from kohort.broker.runtime.registry import Registry
    from kohort.security.sasl.login import Login

    HandlesFrames = Callable[[Any, bytes, int, int], None]
    """Gets a connection, a frame, the time, and where in the frame the header begins."""

_KEY = Struct(">h")


class LoggingIn(ParkableRequester, Protocol):
    """A connection that logs in."""

    handle: HandlesFrames  # receives each frame
    frame_max_bytes: int

    def send(self, frame: bytes) -> None: ...


class LoginGate:
    """The gate for all connections of a server; their state is in `login`."""

    def __init__(self, cluster: BrokerCluster, registry: Registry, handle: HandlesFrames) -> None:
        """Create the gate.

        Args:
            handle: Receives the frames of clients that have logged in.
        """
        self._cluster = cluster
        self._registry = registry
        self._handle = handle
        settings = cluster.settings
        self._request_max_bytes: int = settings.socket_request_max_bytes
        # the largest frame of a client that has not logged in
        self.frame_max_bytes: int = min(settings.sasl_server_max_receive_size, self._request_max_bytes)

    def handle(self, connection: LoggingIn, frame: bytes, now_ms: int, start: int) -> None:
        """Handle a frame in place of `Dispatcher.handle`."""
        login = connection.login
        assert login is not None, "its listener requires one"
        if login.state is State.COMPLETE:
            self._let_through(connection, login)  # it may have completed while the laboratory held a request
        if len(frame) - start < _KEY.size and login.state is not State.HANDSHAKEN_BARE:
            connection.close("unreadable request: it is too short")
            return
        (key,) = _KEY.unpack_from(frame, start) if login.state is not State.HANDSHAKEN_BARE else (-1,)
        verdict = login.admits(key, now_ms)
        if verdict is Verdict.ADMIT:
            self._handle(connection, frame, now_ms, start)
        elif verdict is Verdict.BARE:
            self._bare(connection, login, frame[start:], now_ms)
        elif verdict is Verdict.CLOSE:
            self._close(connection, login, now_ms)
        elif verdict is Verdict.REFUSE:
            self._refuse(connection, login, frame, now_ms, start)
        else:
            self._close_late(connection, login, now_ms, "a session must be renewed by the mechanism that it began with")
        if login.state is State.COMPLETE:
            self._let_through(connection, login)

    def refuses_size(self, connection: LoggingIn, size: int) -> bool:
        """Close the connection if a frame exceeds the limit before the login. Return whether that is the case."""
        login = connection.login
        if login is None or login.state is State.COMPLETE:
            return False
        limit = self.frame_max_bytes
        reason = f"a request of {size} bytes before the login (sasl.server.max.receive.size is {limit})"
        self._close_late(connection, login, self._cluster.clock.now_ms(), reason)
        return True

    def _let_through(self, connection: LoggingIn, login: Login) -> None:
        connection.principal = login.principal
        connection.frame_max_bytes = self._request_max_bytes
        if not login.has_session:
            connection.handle = self._handle

    def _bare(self, connection: LoggingIn, login: Login, message: bytes, now_ms: int) -> None:
        try:
            progress = login.authenticate(message, now_ms, now_ms + self._cluster.clock.epoch_ms)
        except FailedLogin as failure:
            if failure.at_once:
                self._cluster.logins.failed(connection, failure.reason, now_ms, renewed=login.renewing)
                connection.close(f"failed authentication: {failure.reason}")
            else:
                self._close_late(connection, login, now_ms, failure.reason)
        else:
            if login.is_complete:
                self._cluster.logins.succeeded(connection, renewed=login.renewing)
            connection.send(len(progress.challenge).to_bytes(4, "big") + progress.challenge)

    def _close(self, connection: LoggingIn, login: Login, now_ms: int) -> None:
        if login.state is State.COMPLETE:
            self._cluster.logins.expired(connection, str(connection.principal), now_ms)
            reason = "its session has expired (connections.max.reauth.ms, or the token's expiry)"
        else:
            reason = "it must log in first" if login.state is not State.FAILED else "its login has failed"
        connection.close(reason)

    def _refuse(self, connection: LoggingIn, login: Login, frame: bytes, now_ms: int, start: int) -> None:
        """Respond with ILLEGAL_SASL_STATE in the response of the request's API."""
        try:
            key, version, correlation_id, client_id, body_offset = read_header(frame, start)
            api = self._registry.find(key)
            if api is None or not api.lowest <= version <= api.highest:
                raise DecodeError("unsupported API or version")
            request = api.read(version, frame, body_offset, READ_AT_ONCE)
        except DecodeError as error:
            connection.close(f"unreadable request: {error}")
            return
        login.fail()
        ticket = Ticket(connection, api, request, version, correlation_id, client_id or "", now_ms)
        connection.park()
        refusal = error_response(api, request, ErrorCode.illegal_sasl_state)
        fail_late(self._cluster, ticket, refusal, f"{api.spec.name} during a login")

    def _close_late(self, connection: LoggingIn, login: Login, now_ms: int, reason: str) -> None:
        login.fail()
        connection.park()
        fail_late(self._cluster, Ticket(connection, None, None, 0, 0, "", now_ms), None, reason)
