"""Connection to one broker, opened on demand."""

from __future__ import annotations

import socket
import time
from dataclasses import dataclass
from typing import Any

from kohort.client.client_connection import BrokerError, ClientConnection, Conversation, ResultT
from kohort.client.problems import hung_up, in_words, tls_in_words
from kohort.client.security import OPEN, Security

CLIENT_ID = "kohort-analyze"
CONNECT_S, ANSWER_S = 10.0, 60.0
LARGEST_ANSWER = 256 << 20

METADATA, LIST_OFFSETS, FETCH = "metadata", "list_offsets", "fetch"
# maximum version of each API; Fetch has topic names up to 12, so no topic ids are needed
_NEWEST = {METADATA: 12, LIST_OFFSETS: 7, FETCH: 12}
LIST_GROUPS, DESCRIBE_GROUPS, CONSUMER_GROUP_DESCRIBE = "list_groups", "describe_groups", "consumer_group_describe"
OFFSET_FETCH = "offset_fetch"
SHARE_GROUP_DESCRIBE, DESCRIBE_SHARE_GROUP_OFFSETS = "share_group_describe", "describe_share_group_offsets"
_WHERE_SPOKEN = {
    LIST_GROUPS: 5,
    DESCRIBE_GROUPS: 5,
    CONSUMER_GROUP_DESCRIBE: 1,
    OFFSET_FETCH: 8,
    SHARE_GROUP_DESCRIBE: 1,
    DESCRIBE_SHARE_GROUP_OFFSETS: 1,
}  # optional APIs, used only with brokers that support them


class WireError(OSError):
    """Error for a cluster that can't be reached, rejects the client, or doesn't answer as a Kafka cluster does."""


class _ClosedError(BrokerError):
    """Error for a broker that closed the connection."""


@dataclass
class Connection:
    """Connection with at most one request in flight."""

    host: str
    port: int
    security: Security = OPEN
    _open: tuple[socket.socket, ClientConnection] | None = None
    _until: float | None = None

    def ask(self, name: str, request: Any) -> Any:
        """Send a request, which must only read, in the newest common version and return the response.

        Raises:
            WireError: The broker can't be reached or its response is invalid.
        """
        if self._open is not None:
            try:
                return self._ask(name, request)
            except _ClosedError:
                self.close()  # a broker closes idle connections, and that of a restarted one is gone
            except OSError as error:
                raise self._wire_error(error) from None
        try:
            return self._ask(name, request)
        except OSError as error:
            raise self._wire_error(error) from None

    def version(self, name: str) -> int | None:
        """Return the newest common version of an API, or None if the broker doesn't support it.

        Raises:
            WireError: The broker can't be reached.
        """
        try:
            _, connection = self._opened()
        except OSError as error:
            raise self._wire_error(error) from None
        return connection.version(name) if connection.speaks(name) else None

    def close(self) -> None:
        if self._open is not None:
            self._open[0].close()
            self._open, self._until = None, None

    def _wire_error(self, error: OSError) -> WireError:
        self.close()
        return WireError(f"{self.host}:{self.port}: {in_words(error)}")

    def _ask(self, name: str, request: Any) -> Any:
        sock, connection = self._opened()
        return self._talk(sock, connection, connection.ask(name, request))

    def _opened(self) -> tuple[socket.socket, ClientConnection]:
        if self._until is not None and time.monotonic() > self._until:
            self.close()
        if self._open is None:
            sock = self._connect()
            connection = ClientConnection(
                CLIENT_ID, _NEWEST | _WHERE_SPOKEN, self.security, largest_answer=LARGEST_ANSWER
            )
            self._open = sock, connection
            self._talk(sock, connection, connection.open())
            for name in _NEWEST:
                connection.version(name)
            if connection.session_s is not None:
                self._until = time.monotonic() + connection.session_s
        return self._open

    def _connect(self) -> socket.socket:
        try:
            plain = socket.create_connection((self.host, self.port), CONNECT_S)
        except (OverflowError, ValueError) as error:  # a broker named it, and it is of no kind
            raise WireError(str(error)) from None
        plain.settimeout(ANSWER_S)
        if not self.security.tls:
            return plain
        try:
            return self.security.context().wrap_socket(plain, server_hostname=self.host)
        except (OSError, ValueError) as error:
            plain.close()
            raise WireError(tls_in_words(error)) from None

    def _talk(self, sock: socket.socket, connection: ClientConnection, conversation: Conversation[ResultT]) -> ResultT:
        try:
            frame = next(conversation)
            while True:
                frame = conversation.send(self._send(sock, connection, frame))
        except StopIteration as over:
            result: ResultT = over.value
            return result

    def _send(self, sock: socket.socket, connection: ClientConnection, frame: bytes) -> bytes:
        try:
            sock.sendall(frame)
            return self._take(sock, connection.frame_size(self._take(sock, 4)))
        except (ConnectionResetError, BrokenPipeError):
            raise _ClosedError(hung_up(self.security)) from None

    def _take(self, sock: socket.socket, size: int) -> bytes:
        parts = bytearray()
        while len(parts) < size:
            part = sock.recv(min(size - len(parts), 1 << 20))
            if not part:
                raise _ClosedError(hung_up(self.security))
            parts += part
        return bytes(parts)
