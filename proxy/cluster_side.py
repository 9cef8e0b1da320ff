"""The connection to a node of the cluster that belongs to one client: opened, secured, logged in, passed through."""

from __future__ import annotations

import asyncio
import ssl
from typing import Any, Final, Protocol, cast

from kohort.broker.forking import Address, unwatch_forks, watch_forks
from kohort.client.client_connection import BrokerError, ClientConnection, Conversation
from kohort.client.problems import hung_up, in_words, tls_in_words
from kohort.client.sasl import LoginError
from kohort.client.security import Security
from kohort.proxy.answer_rewriting import Pieces

CLIENT_ID: Final = "kohort-proxy"
SPOKEN: Final = {
    "metadata": 12,
    "list_offsets": 8,
    "find_coordinator": 4,
    "describe_groups": 6,
    "consumer_group_describe": 1,
    "share_group_describe": 1,
    "streams_group_describe": 0,
}
"""The APIs that the proxy asks for itself, and their newest versions."""

CONNECT_S: Final = 10.0
"""How long it may take to connect and to log in."""

UNWRITTEN_BYTES: Final = 256 << 10
"""As soon as so much waits for one side to read it, the other side is not read any more."""


class Client(Protocol):
    """Whom a node talks to."""

    def answered(self, data: bytes) -> None:
        """The node has said something."""
        ...

    def cluster_gone(self) -> None:
        """The node has hung up."""
        ...

    def pause(self, paused: bool) -> None:
        """Whether the node reads too slowly for more to be sent."""
        ...


class ClusterSide(asyncio.Protocol):
    """Talks for itself while it logs in; what comes after that is its client's."""

    def __init__(self, security: Security) -> None:
        self._security = security
        self._connection = ClientConnection(CLIENT_ID, SPOKEN, security)
        self._transport: asyncio.Transport | None = None
        self._addresses: list[Address] = []  # local ones
        self._client: Client | None = None
        self._received = bytearray()
        self._talk: Conversation[Any] | None = None
        self._talked: asyncio.Future[Any] | None = None
        self.lost = False

    @property
    def session_s(self) -> float | None:
        """How long after a login the next is due; None: never."""
        return self._connection.session_s

    async def log_in(self) -> None:
        """Settles versions and logs in, if the cluster wants that. Raises OSError."""
        await self._says(self._connection.open())

    async def log_in_again(self) -> None:
        """Logs in once more, as the session is about to end (KIP-368). Raises OSError."""
        await self._says(self._connection.log_in_again())

    def version(self, name: str) -> int:
        """The version in which the proxy asks an API, once versions are settled. Raises BrokerError where it can't."""
        return self._connection.version(name)

    def speaks(self, name: str) -> bool:
        """Whether the proxy can ask an API of the node, once versions are settled."""
        return self._connection.speaks(name)

    async def asks(self, name: str, request: Any) -> Any:
        """The answer to a question of the proxy's own, on a connection that is no client's. Raises OSError."""
        async with asyncio.timeout(CONNECT_S):
            return await self._says(self._connection.ask(name, request))

    async def _says(self, talk: Conversation[Any]) -> Any:
        if self.lost:
            raise BrokerError(hung_up(self._security))
        self._talked = asyncio.get_running_loop().create_future()
        self._talk = talk
        self._step(None)
        return await self._talked

    def serves(self, client: Client) -> None:
        """From now on what comes is this client's."""
        self._client = client

    def send(self, pieces: Pieces) -> None:
        """Passes on what a client has sent."""
        assert self._transport is not None, "it is connected before it is sent anything"
        if len(pieces) == 1:
            self._transport.write(pieces[0])
        elif pieces:
            self._transport.writelines(pieces)

    def pause(self, paused: bool) -> None:
        """Whether the client reads too slowly for more to be read here."""
        if self._transport is not None and not self.lost:
            if paused:
                self._transport.pause_reading()
            else:
                self._transport.resume_reading()

    def close(self) -> None:
        """Hangs up, after what has been written."""
        if self._transport is not None:
            self._transport.close()

    def on_forked(self) -> list[Address]:
        """Return the local address of the socket, which a forked child must close."""
        return self._addresses

    # What the event loop calls

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """It is connected, and secured if need be."""
        self._transport = cast(asyncio.Transport, transport)
        self._addresses = [self._transport.get_extra_info("sockname")[:2]]
        watch_forks(self)
        self._transport.set_write_buffer_limits(high=UNWRITTEN_BYTES)

    def data_received(self, data: bytes) -> None:
        """The node has said something: to the client, or in a login."""
        if self._talk is not None:
            self._received += data
            self._hear()
        elif self._client is not None:
            self._client.answered(data)

    def connection_lost(self, problem: Exception | None) -> None:
        """The node has hung up, or was hung up on."""
        unwatch_forks(self)
        self.lost = True
        self._fail(BrokerError(hung_up(self._security)))
        if self._client is not None:
            self._client.cluster_gone()

    def pause_writing(self) -> None:
        """The node does not read fast enough."""
        if self._client is not None:
            self._client.pause(True)

    def resume_writing(self) -> None:
        """It has read."""
        if self._client is not None:
            self._client.pause(False)

    # Logging in

    def _hear(self) -> None:
        try:
            while self._talk is not None and len(self._received) >= 4:
                size = self._connection.frame_size(bytes(self._received[:4]))
                if len(self._received) < 4 + size:
                    return
                frame = bytes(self._received[4 : 4 + size])
                del self._received[: 4 + size]
                self._step(frame)
        except OSError as problem:
            self._fail(problem)

    def _step(self, frame: bytes | None) -> None:
        """Says what follows on a frame of the node; None: begins."""
        assert self._talk is not None
        assert self._talked is not None, "somebody waits for the login"
        try:
            self.send([next(self._talk) if frame is None else self._talk.send(frame)])
        except StopIteration as end:
            self._talk = None
            if not self._talked.done():
                self._talked.set_result(end.value)
        except OSError as problem:
            self._fail(problem)

    def _fail(self, problem: OSError) -> None:
        self._talk = None
        if self._talked is not None and not self._talked.done():
            self._talked.set_exception(problem)


async def connect(
    address: tuple[str, int], security: Security, context: ssl.SSLContext | None, *, asks: bool = False
) -> ClusterSide:
    """A connection that is ready for a client. Raises BrokerError, whose text is why there is none.

    `asks`: whether a broker is there at all, also where nobody is to log in.
    """
    host, port = address
    side = ClusterSide(security)
    try:
        async with asyncio.timeout(CONNECT_S):
            await asyncio.get_running_loop().create_connection(
                lambda: side, host, port, ssl=context, server_hostname=host if context is not None else None
            )
            if security.sasl or asks:
                await side.log_in()
    except BaseException as problem:
        side.close()
        if isinstance(problem, TimeoutError):
            raise BrokerError("no answer; does a firewall stand between?") from None
        if isinstance(problem, OSError):
            raise BrokerError(_why_not(problem)) from None
        if isinstance(problem, ValueError | OverflowError):  # no such port, or host
            raise BrokerError(str(problem)) from None
        raise
    return side


def _why_not(problem: OSError) -> str:
    if isinstance(problem, BrokerError | LoginError):
        return str(problem)
    return tls_in_words(problem) if isinstance(problem, ssl.SSLError) else in_words(problem)
