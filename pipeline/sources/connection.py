"""One socket to one broker, opened when needed: TLS, the versions that both sides speak, the login."""

from __future__ import annotations

import socket
import ssl
import struct
import time
from dataclasses import dataclass, field
from typing import Any

from kohort.pipeline.sources import sasl
from kohort.pipeline.sources.security import OPEN, Security
from kohort.protocol.errors import DecodeError
from kohort.protocol.messages import message_of
from kohort.protocol.messages.api_versions import ApiVersionsRequest

CLIENT_ID = "kohort-analyze"
CONNECT_S, ANSWER_S = 10.0, 60.0
LARGEST_ANSWER = 256 << 20

METADATA, LIST_OFFSETS, FETCH = 3, 2, 1
_NEWEST = {METADATA: ("metadata", 12), LIST_OFFSETS: ("list_offsets", 7), FETCH: ("fetch", 12)}
"""What this client speaks at most; Fetch names topics up to 12, so no ids are needed."""
_TLS_ALERT = b"\x15\x03"
_SESSION_KEPT = 0.85
"""Share of a session's length (`connections.max.reauth.ms`, KIP-368) after which we connect anew, as Java does."""


class WireError(OSError):
    """The cluster can't be reached, doesn't let us in, or doesn't answer as a Kafka cluster does."""


@dataclass
class Connection:
    """One request at a time."""

    host: str
    port: int
    security: Security = OPEN
    _socket: socket.socket | None = None
    _correlation: int = 0
    _versions: dict[int, int] = field(default_factory=dict)
    _until: float | None = None

    def ask(self, key: int, request: Any) -> Any:
        """The answer to a request, in the newest version that both sides speak. Raises WireError."""
        name, _ = _NEWEST[key]
        try:
            sock = self._open()
            return self._exchange(sock, name, self._versions[key], request)
        except OSError as error:
            raise WireError(f"{self.host}:{self.port}: {_in_words(error)}") from None

    def close(self) -> None:
        if self._socket is not None:
            self._socket.close()
            self._socket, self._until = None, None

    def _open(self) -> socket.socket:
        if self._until is not None and time.monotonic() > self._until:
            self.close()
        if self._socket is None:
            self._socket = self._connect()
            try:
                login_version = self._negotiate(self._socket)
                if self.security.sasl:
                    self._log_in(self._socket, login_version)
            except OSError:
                self.close()
                raise
        return self._socket

    def _connect(self) -> socket.socket:
        try:
            plain = socket.create_connection((self.host, self.port), CONNECT_S)
        except (OverflowError, ValueError) as error:  # a broker told of it, and it is of no kind
            raise WireError(str(error)) from None
        plain.settimeout(ANSWER_S)
        if not self.security.tls:
            return plain
        try:
            return self.security.context().wrap_socket(plain, server_hostname=self.host)
        except (OSError, ValueError) as error:
            plain.close()
            raise WireError(_tls_words(error)) from None

    def _negotiate(self, sock: socket.socket) -> int:
        """Settles all versions. Gives the one for logging in."""
        answer = self._exchange(sock, "api_versions", 0, ApiVersionsRequest())
        theirs = {api.api_key: (api.min_version, api.max_version) for api in answer.api_keys}
        for key, (name, ours) in _NEWEST.items():
            low, high = theirs.get(key, (0, -1))
            if not low <= min(ours, high):
                raise WireError(f"it speaks {name} {low}-{high}, this client up to {ours}")
            self._versions[key] = min(ours, high)
        return int(min(1, theirs.get(sasl.AUTHENTICATE, (0, 0))[1]))

    def _log_in(self, sock: socket.socket, version: int) -> None:
        def talk(key: int, of_key: int, body: bytes) -> bytes:
            self._correlation += 1
            name = CLIENT_ID.encode()
            header = struct.pack(f">hhih{len(name)}s", key, of_key, self._correlation, len(name), name)
            return self._send(sock, header + body)[4:]

        try:
            lasts_ms = sasl.log_in(self.security, talk, version)
        except struct.error:
            raise WireError("an answer to the login that can't be read") from None
        self._until = time.monotonic() + _SESSION_KEPT * lasts_ms / 1000 if lasts_ms > 0 else None

    def _exchange(self, sock: socket.socket, name: str, version: int, request: Any) -> Any:
        message = message_of(name)
        self._correlation += 1
        frame = self._send(sock, message.write_request(version, self._correlation, CLIENT_ID, request))
        try:
            _, answer = message.read_answer(version, frame)
        except DecodeError as error:
            self.close()
            raise WireError(f"an answer that can't be read: {error}") from None
        return answer

    def _send(self, sock: socket.socket, frame: bytes) -> bytes:
        try:
            sock.sendall(struct.pack(">i", len(frame)) + frame)
            head = self._take(sock, 4)
            size = struct.unpack(">i", head)[0]
            if head[:2] == _TLS_ALERT:
                raise WireError("this port speaks TLS: say security.protocol=SSL (or SASL_SSL) with --command-config")
            if not 4 <= size <= LARGEST_ANSWER:
                raise WireError(f"it doesn't answer like a Kafka broker (a frame of {size} bytes)")
            return self._take(sock, size)
        except (ConnectionResetError, BrokenPipeError):
            self.close()
            raise WireError(self._hung_up()) from None
        except OSError:
            self.close()
            raise

    def _take(self, sock: socket.socket, size: int) -> bytes:
        parts = bytearray()
        while len(parts) < size:
            part = sock.recv(min(size - len(parts), 1 << 20))
            if not part:
                raise WireError(self._hung_up())
            parts += part
        return bytes(parts)

    def _hung_up(self) -> str:
        if self.security == OPEN:
            return "it hung up; if it wants TLS or a login, say so with --command-config"
        return f"it hung up; does security.protocol={self.security.protocol} suit this port?"


def _in_words(error: OSError) -> str:
    if isinstance(error, ConnectionRefusedError):
        return "nothing listens there; is this the broker's address, and does it run?"
    if isinstance(error, socket.gaierror):
        return "no such host"
    if isinstance(error, TimeoutError):
        return "no answer; does a firewall stand between?"
    return error.strerror or str(error)


def _tls_words(error: OSError | ValueError) -> str:
    if isinstance(error, ssl.SSLCertVerificationError):
        why = error.verify_message or str(error)
        if "match" in why.lower() and "certificate is not valid for" in why.lower():
            return f"{why} (ssl.endpoint.identification.algorithm= turns the check off)"
        return f"the broker's certificate isn't trusted: {why}; name its authority with ssl.truststore.location (PEM)"
    if isinstance(error, ssl.SSLError):
        if isinstance(error, ssl.SSLEOFError) or error.reason in ("WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE"):
            return "this port doesn't speak TLS; try security.protocol=PLAINTEXT or SASL_PLAINTEXT"
        return f"no TLS connection: {error.reason or error}"
    return f"no TLS connection: {error}"
