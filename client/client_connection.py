"""What is said on one connection to a broker, without the connection: the frames that go out for those that come in.

A conversation is a generator. It gives a frame to send, is sent the frame that comes back, and returns what was asked
for. Whoever has the socket reads four bytes, asks `frame_size` how many follow, and reads those.
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
Conversation = Generator[bytes, bytes, ResultT]
"""Gives frames to send, their lengths included; is sent frames that have come, without theirs."""

_TLS_ALERT = b"\x15\x03"
_SESSION_KEPT = 0.85
"""Share of a session's length (`connections.max.reauth.ms`, KIP-368) after which we connect anew, as Java does."""


class BrokerError(OSError):
    """A broker does not let us in, or does not answer as one. The text is a sentence without its subject's address."""


class SpeaksHttpError(BrokerError):
    """A web server answers: perhaps a control address."""


class ClientConnection:
    """One connection's conversations. A new connection gets a new one."""

    def __init__(
        self, client_id: str, newest: Mapping[str, int], security: Security = OPEN, *, largest_answer: int = 64 << 20
    ) -> None:
        """`newest`: the newest version of each API that the client speaks, by the names of `api_keys.py`."""
        self._client_id = client_id
        self._newest = newest
        self._security = security
        self._largest_answer = largest_answer
        self._theirs: dict[int, tuple[int, int]] = {}
        self._correlation_id = 0
        self.session_s: float | None = None
        """How long after `open` a new connection is due; None: this one lasts."""

    def open(self) -> Conversation[None]:
        """Settles versions and logs in: comes first. Raises BrokerError, LoginError."""
        answer = yield from self._ask("api_versions", 0, ApiVersionsRequest())
        self._theirs = {api.api_key: (api.min_version, api.max_version) for api in answer.api_keys}
        if self._security.sasl:
            yield from self._log_in()

    def log_in_again(self) -> Conversation[None]:
        """Logs in once more on a connection that is logged in, before its session ends (KIP-368). Raises LoginError."""
        return self._log_in()

    def ask(self, name: str, request: Any) -> Conversation[Any]:
        """The answer to a request of an API, in the newest version that both sides speak. Raises BrokerError."""
        return self._ask(name, self.version(name), request)

    @property
    def apis(self) -> int:
        """How many APIs the broker serves; known once `open` is over."""
        return len(self._theirs)

    def speaks(self, name: str) -> bool:
        """Whether both sides speak an API in some version; known once `open` is over."""
        low, high = self._theirs.get(API_BY_NAME[name].key, (0, -1))
        return max(low, API_BY_NAME[name].min_version) <= min(self._newest[name], high)

    def version(self, name: str) -> int:
        """The newest of an API that both sides speak; known once `open` is over. Raises BrokerError."""
        low, high = self._theirs.get(API_BY_NAME[name].key, (0, -1))
        ours = self._newest[name]
        oldest = API_BY_NAME[name].min_version
        if not max(low, oldest) <= min(ours, high):
            raise BrokerError(f"it speaks {name} {low}-{high}, this client {oldest}-{ours}")
        return min(ours, high)

    def frame_size(self, head: bytes) -> int:
        """How many bytes follow the first four of a frame. Raises BrokerError where no broker sends such."""
        if head == b"HTTP":
            raise SpeaksHttpError("what answers there is a web server, no Kafka broker")
        if head[:2] == _TLS_ALERT:
            raise BrokerError("this port speaks TLS: say security.protocol=SSL (or SASL_SSL) with --command-config")
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
