"""A broker that requires TLS or a login, and has no topics. Written from the RFCs alone."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import hmac
import socket
import ssl
import struct
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field

from kohort.client.security import Security, from_settings
from kohort.protocol.codec import Frame
from kohort.protocol.errors import ErrorCode
from kohort.protocol.messages import api_versions, metadata

SALT, ITERATIONS = b"pepper and more", 4096
USER, PASSWORD = "a,na=", "s3cret"
LOGIN = f'org.apache.kafka.common.security.plain.PlainLoginModule required username="{USER}" password="{PASSWORD}";'


def login(mechanism: str, protocol: str = "SASL_PLAINTEXT", jaas: str = LOGIN, **more: str) -> Security:
    """Return the settings of a client that logs in."""
    return from_settings(
        {"security.protocol": protocol, "sasl.mechanism": mechanism, "sasl.jaas.config": jaas}
        | {name.replace("_", "."): value for name, value in more.items()}
    )


@dataclass
class LockedBroker:
    """Broker that accepts one login `mechanism`, or none if empty. Sessions last `lasts_ms`, or forever with 0."""

    mechanism: str = ""
    tls: ssl.SSLContext | None = None
    lasts_ms: int = 0
    honest: bool = True
    """False: it poses as the broker, and doesn't know the password."""
    logins: list[str] = field(default_factory=list)
    connections: int = 0

    @contextlib.contextmanager
    def listening(self) -> Iterator[int]:
        """Return its port."""
        with socket.create_server(("127.0.0.1", 0)) as server:
            thread = threading.Thread(target=self._accept, args=(server,), daemon=True)
            thread.start()
            try:
                yield server.getsockname()[1]
            finally:
                server.shutdown(socket.SHUT_RDWR)
                thread.join(60)

    def _accept(self, server: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while True:
                plain, _ = server.accept()
                self.connections += 1
                threading.Thread(target=self._serve, args=(plain,), daemon=True).start()

    def _serve(self, plain: socket.socket) -> None:
        with contextlib.suppress(OSError, struct.error):
            connection = self.tls.wrap_socket(plain, server_side=True) if self.tls else plain
            with connection:
                self._talk(connection)

    def _talk(self, connection: socket.socket) -> None:
        stream = connection.makefile("rb")
        let_in = not self.mechanism
        scram = _Scram(self.mechanism, self.honest)
        while True:
            (size,) = struct.unpack(">i", stream.read(4))
            if size > 1 << 20:
                return  # a TLS greeting, to a port that speaks none
            frame = stream.read(size)
            key, version, correlation, client = struct.unpack_from(">hhih", frame)
            body = frame[10 + client :]
            if key == 18:
                _send(connection, api_versions.MESSAGE.write(version, correlation, _VERSIONS))
            elif key == 17:
                wanted = body[2:].decode()
                error = 0 if wanted == self.mechanism else 33
                offered = struct.pack(f">ih{len(self.mechanism)}s", 1, len(self.mechanism), self.mechanism.encode())
                _answer(connection, correlation, struct.pack(">h", error) + offered)
            elif key == 36:
                told, done, refusal = self._login(scram, body[4:])
                let_in = let_in or done
                words = struct.pack(f">h{len(refusal)}s", len(refusal), refusal.encode()) if refusal else b"\xff\xff"
                lasts = struct.pack(">q", self.lasts_ms) if version else b""
                packed = struct.pack(f">i{len(told)}s", len(told), told)
                _answer(connection, correlation, struct.pack(">h", 58 if refusal else 0) + words + packed + lasts)
            elif key == 3 and let_in:
                nothing = metadata.MetadataResponse(brokers=(), cluster_id="c", controller_id=-1, topics=())
                _send(connection, metadata.MESSAGE.write(version, correlation, nothing))
            else:
                return  # as Kafka does without a login

    def _login(self, scram: _Scram, message: bytes) -> tuple[bytes, bool, str]:
        """Return the response, whether the login has ended, and the error."""
        if self.mechanism == "PLAIN":
            _, user, password = message.decode().split("\0")
            good = (user, password) == (USER, PASSWORD)
            self.logins.append(user)
            return b"", good, "" if good else "Authentication failed: Invalid username or password"
        if not scram.first:
            return scram.challenge(message.decode()), False, ""
        good, told = scram.judge(message.decode())
        self.logins.append(scram.user)
        return told, good, "" if good else "Authentication failed"


_VERSIONS = api_versions.ApiVersionsResponse(
    error_code=ErrorCode.none,
    api_keys=tuple(
        api_versions.ApiVersion(api_key=key, min_version=low, max_version=high)
        for key, low, high in ((1, 4, 12), (2, 1, 7), (3, 0, 12), (17, 0, 1), (18, 0, 4), (36, 0, 2))
    ),
)


def _send(connection: socket.socket, frame: Frame) -> None:
    connection.sendall(frame if isinstance(frame, bytes) else b"".join(frame))


def _answer(connection: socket.socket, correlation: int, body: bytes) -> None:
    connection.sendall(struct.pack(">ii", len(body) + 4, correlation) + body)


class _Scram:
    """The broker's part of RFC 5802."""

    def __init__(self, mechanism: str, honest: bool) -> None:
        self.digest = "sha512" if mechanism.endswith("512") else "sha256"
        self.honest = honest
        self.first = self.challenged = self.user = ""

    def challenge(self, message: str) -> bytes:
        assert message.startswith("n,,")
        self.first = message[3:]
        user, nonce = self.first.removeprefix("n=").split(",r=")
        self.user = user.replace("=2C", ",").replace("=3D", "=")
        self.challenged = f"r={nonce}broker,s={base64.b64encode(SALT).decode()},i={ITERATIONS}"
        return self.challenged.encode()

    def judge(self, message: str) -> tuple[bool, bytes]:
        bare, proof = message.rsplit(",p=", 1)
        everything = f"{self.first},{self.challenged},{bare}".encode()
        salted = hashlib.pbkdf2_hmac(self.digest, PASSWORD.encode(), SALT, ITERATIONS)
        stored = hashlib.new(self.digest, hmac.digest(salted, b"Client Key", self.digest)).digest()
        signature = hmac.digest(stored, everything, self.digest)
        key = bytes(a ^ b for a, b in zip(base64.b64decode(proof), signature, strict=True))
        if not self.honest:
            return True, b"v=" + base64.b64encode(bytes(32))
        good = hashlib.new(self.digest, key).digest() == stored and self.user == USER
        server_key = hmac.digest(salted, b"Server Key", self.digest)
        return good, b"v=" + base64.b64encode(hmac.digest(server_key, everything, self.digest)) if good else b"e=no"
