"""The conversation with a broker on one connection, without the connection: frames to send, given the received ones.

A conversation is a generator. It yields a frame to send, receives the response frame, and returns the result. The owner
of the socket reads four bytes, calls `frame_size` for the number of remaining bytes, and reads those.
"""

from __future__ import annotations

import struct
from collections.abc import Generator, Mapping
from typing import Any, TypeVar

from kohort.client import sasl
from kohort.client.security import OPEN, Security
from kohort.protocol.api_keys import API_BY_NAME
from kohort.protocol.errors import DecodeError
from kohort.protocol.messages import message_of
from kohort.protocol.messages.api_versions import ApiVersionsRequest

ResultT = TypeVar("ResultT")
# Yields frames to send, including their length; receives frames without it.
Conversation = Generator[bytes, bytes, ResultT]

_TLS_ALERT = b"\x15\x03"
# Fraction of a session's lifetime (`connections.max.reauth.ms`, KIP-368) after which to reconnect, as in Java.
_SESSION_KEPT = 0.85


class BrokerError(OSError):
    """A broker that rejects the connection or does not respond like one. The text is a sentence without the address."""


class SpeaksHttpError(BrokerError):
    """The server speaks HTTP: possibly a control address."""


class ClientConnection:
    """Conversations of one connection. Create a new object for each connection."""

    def __init__(
        self, client_id: str, newest: Mapping[str, int], security: Security = OPEN, *, largest_answer: int = 64 << 20
    ) -> None:
        """Create a connection that is not yet open.

        Args:
            newest: Newest supported version of each API, by the names in `api_keys.py`.
        """
        self._client_id = client_id
        self._newest = newest
        self._security = security
        self._largest_answer = largest_answer
        self._theirs: dict[int, tuple[int, int]] = {}
        self._correlation_id = 0
        self.session_s: float | None = None  # seconds after `open` at which to reconnect, or None

    def open(self) -> Conversation[None]:
        """Settle versions and authenticate; must be first.

        Raises:
            BrokerError: The broker rejects the connection.
            LoginError: The authentication failed.
        """
        answer = yield from self._ask("api_versions", 0, ApiVersionsRequest())
        self._theirs = {api.api_key: (api.min_version, api.max_version) for api in answer.api_keys}
        if self._security.sasl:
            yield from self._log_in()

    def log_in_again(self) -> Conversation[None]:
        """Authenticate again before the session expires (KIP-368).

        Raises:
            LoginError: The authentication failed.
        """
        return self._log_in()

    def ask(self, name: str, request: Any) -> Conversation[Any]:
        """Send a request in the newest common version and return the response.

        Raises:
            BrokerError: No version is common, or the response is malformed.
        """
        return self._ask(name, self.version(name), request)

    @property
    def apis(self) -> int:
        """Number of APIs that the broker supports; available after `open`."""
        return len(self._theirs)

    def speaks(self, name: str) -> bool:
        """Return whether there is a common version of an API; available after `open`."""
        low, high = self._theirs.get(API_BY_NAME[name].key, (0, -1))
        return max(low, API_BY_NAME[name].min_version) <= min(self._newest[name], high)

    def version(self, name: str) -> int:
        """Return the newest common version of an API; available after `open`.

        Raises:
            BrokerError: No version is common.
        """
        low, high = self._theirs.get(API_BY_NAME[name].key, (0, -1))
        ours = self._newest[name]
        oldest = API_BY_NAME[name].min_version
        if not max(low, oldest) <= min(ours, high):
            raise BrokerError(f"it speaks {name} {low}-{high}, this client {oldest}-{ours}")
        return min(ours, high)

    def frame_size(self, head: bytes) -> int:
        """Return the number of bytes that follow the first four of a frame.

        Raises:
            BrokerError: No broker sends these four bytes.
        """
        if head == b"HTTP":
            raise SpeaksHttpError("the server speaks HTTP, it is not a Kafka broker")
        if head[:2] == _TLS_ALERT:
            raise BrokerError("this port requires TLS; set security.protocol=SSL (or SASL_SSL) with --command-config")
        (size,) = struct.unpack(">i", head)
        if not 4 <= size <= self._largest_answer:
            raise BrokerError(f"it doesn't answer like a Kafka broker (a frame of {size} bytes)")
        return int(size)

    def _ask(self, name: str, version: int, request: Any) -> Conversation[Any]:
        message = message_of(name)
        self._correlation_id += 1
        frame = message.write_request(version, self._correlation_id, self._client_id, request)
        answer = yield struct.pack(">i", len(frame)) + frame
        try:
            correlation_id, response = message.read_answer(version, answer)
        except DecodeError as problem:
            raise BrokerError(f"an answer to {name} that cannot be read: {problem}") from None
        if correlation_id != self._correlation_id:
            raise BrokerError(f"an answer to another question than {name}")
        return response

    def _log_in(self) -> Conversation[None]:
        version = min(1, self._theirs.get(sasl.AUTHENTICATE, (0, 0))[1])
        steps = sasl.log_in(self._security, version)
        name = self._client_id.encode()
        try:
            key, of_key, body = next(steps)
            while True:
                self._correlation_id += 1
                header = struct.pack(f">hhih{len(name)}s", key, of_key, self._correlation_id, len(name), name)
                answer = yield struct.pack(">i", len(header) + len(body)) + header + body
                key, of_key, body = steps.send(answer[4:])
        except StopIteration as over:
            self.session_s = _SESSION_KEPT * over.value / 1000 if over.value > 0 else None
        except struct.error:
            raise BrokerError("an answer to the login that can't be read") from None
