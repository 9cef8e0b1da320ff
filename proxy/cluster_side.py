"""Connection to a node of the cluster that belongs to one client: connected, secured, logged in, then relayed."""

from __future__ import annotations

import asyncio
import ssl
from typing import Any, Final, Protocol, cast

from kohort.base.forking import Address, unwatch_forks, watch_forks
from kohort.client.client_connection import BrokerError, ClientConnection, Conversation
from kohort.client.group_describing import DESCRIBE_VERSIONS
from kohort.client.problems import hung_up, in_words, tls_in_words
from kohort.client.sasl import LoginError
from kohort.client.security import Security
from kohort.proxy.answer_rewriting import Pieces

CLIENT_ID: Final = "kohort-proxy"
SPOKEN: Final = {
    "metadata": 12,
    "list_offsets": 8,
    "find_coordinator": 4,
    **DESCRIBE_VERSIONS,
}
"""APIs that the proxy itself uses, with their newest versions."""

CONNECT_S: Final = 10.0  # timeout of connecting and logging in

UNWRITTEN_BYTES: Final = 256 << 10
"""When this much is buffered for one side, the other side is not read."""


class Client(Protocol):
    """Receiver of a node's responses."""

    def on_node_data(self, data: bytes) -> None: ...

    def on_node_closed(self) -> None: ...

    def pause(self, paused: bool) -> None:
        """Pause or resume requests, depending on whether the node reads too slowly."""
        ...


class ClusterSide(asyncio.Protocol):
    """Connection that sends the proxy's requests during the login and a client's afterwards."""

    def __init__(self, security: Security) -> None:
        self._security = security
        self._connection = ClientConnection(CLIENT_ID, SPOKEN, security)
        self._transport: asyncio.Transport | None = None
        self._addresses: list[Address] = []  # local ones
        self._client: Client | None = None
        self._received = bytearray()
        self._talk: Conversation[Any] | None = None
        self._outcome: asyncio.Future[Any] | None = None
        self.lost = False

    @property
    def session_s(self) -> float | None:
        """Seconds between a login and its renewal, or None if it never expires."""
        return self._connection.session_s

    async def log_in(self) -> None:
        """Connect and negotiate versions, and log in if the cluster requires it. Raise OSError on failure."""
        await self._converse(self._connection.open())

    async def log_in_again(self) -> None:
        """Renew the login before the session expires (KIP-368). Raise OSError on failure."""
        await self._converse(self._connection.log_in_again())

    def version(self, name: str) -> int:
        """Return the negotiated version of an API. Raise BrokerError if the node does not support it."""
        return self._connection.version(name)

    def speaks(self, name: str) -> bool:
        """Return whether the node supports an API; versions must be negotiated."""
        return self._connection.speaks(name)

    async def call(self, name: str, request: Any) -> Any:
        """Send a request of the proxy's own and return the response. Raise OSError on failure."""
        async with asyncio.timeout(CONNECT_S):
            return await self._converse(self._connection.ask(name, request))

    async def _converse(self, talk: Conversation[Any]) -> Any:
        if self.lost:
            raise BrokerError(hung_up(self._security))
        self._outcome = asyncio.get_running_loop().create_future()
        self._talk = talk
        self._step(None)
        return await self._outcome

    def serves(self, client: Client) -> None:
        """Pass everything received from now on to this client."""
        self._client = client

    def send(self, pieces: Pieces) -> None:
        assert self._transport is not None, "requests are sent after the connection is made"
        if len(pieces) == 1:
            self._transport.write(pieces[0])
        elif pieces:
            self._transport.writelines(pieces)

    def pause(self, paused: bool) -> None:
        if self._transport is not None and not self.lost:
            if paused:
                self._transport.pause_reading()
            else:
                self._transport.resume_reading()

    def close(self) -> None:
        if self._transport is not None:
            self._transport.close()

    def on_forked(self) -> list[Address]:
        """Return the local address of the socket, which a forked child must close."""
        return self._addresses

    # Callbacks of the event loop

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._addresses = [self._transport.get_extra_info("sockname")[:2]]
        watch_forks(self)
        self._transport.set_write_buffer_limits(high=UNWRITTEN_BYTES)

    def data_received(self, data: bytes) -> None:
        if self._talk is not None:
            self._received += data
            self._read_frames()
        elif self._client is not None:
            self._client.on_node_data(data)

    def connection_lost(self, error: Exception | None) -> None:
        unwatch_forks(self)
        self.lost = True
        self._fail(BrokerError(hung_up(self._security)))
        if self._client is not None:
            self._client.on_node_closed()

    def pause_writing(self) -> None:
        if self._client is not None:
            self._client.pause(True)

    def resume_writing(self) -> None:
        if self._client is not None:
            self._client.pause(False)

    # Logging in

    def _read_frames(self) -> None:
        try:
            while self._talk is not None and len(self._received) >= 4:
                size = self._connection.frame_size(bytes(self._received[:4]))
                if len(self._received) < 4 + size:
                    return
                frame = bytes(self._received[4 : 4 + size])
                del self._received[: 4 + size]
                self._step(frame)
        except OSError as error:
            self._fail(error)

    def _step(self, frame: bytes | None) -> None:
        """Send the request that follows a frame from the node; None starts the conversation."""
        assert self._talk is not None
        assert self._outcome is not None, "a caller waits for the conversation"
        try:
            self.send([next(self._talk) if frame is None else self._talk.send(frame)])
        except StopIteration as end:
            self._talk = None
            if not self._outcome.done():
                self._outcome.set_result(end.value)
        except OSError as error:
            self._fail(error)

    def _fail(self, error: OSError) -> None:
        self._talk = None
        if self._outcome is not None and not self._outcome.done():
            self._outcome.set_exception(error)


async def connect(
    address: tuple[str, int], security: Security, context: ssl.SSLContext | None, *, probes: bool = False
) -> ClusterSide:
    """Return a connection that is ready for a client.

    Args:
        probes: Negotiate versions even without a login, to check that a broker responds.

    Raises:
        BrokerError: The text is the reason.
    """
    host, port = address
    side = ClusterSide(security)
    try:
        async with asyncio.timeout(CONNECT_S):
            await asyncio.get_running_loop().create_connection(
                lambda: side, host, port, ssl=context, server_hostname=host if context is not None else None
            )
            if security.sasl or probes:
                await side.log_in()
    except BaseException as error:
        side.close()
        if isinstance(error, TimeoutError):
            raise BrokerError("no response; a firewall may block the port") from None
        if isinstance(error, OSError):
            raise BrokerError(_reason(error)) from None
        if isinstance(error, ValueError | OverflowError):  # invalid port or host
            raise BrokerError(str(error)) from None
        raise
    return side


def _reason(error: OSError) -> str:
    if isinstance(error, BrokerError | LoginError):
        return str(error)
    return tls_in_words(error) if isinstance(error, ssl.SSLError) else in_words(error)
