"""Connection of the load generator without a socket, for responses that a test makes up."""

from typing import Any

from benchmarks.connection import Connection
from benchmarks.failures import Failures
from kohort.protocol.codec import Frame


class Wire:
    """Replacement of a socket that keeps the sent bytes."""

    def __init__(self) -> None:
        self.sent: list[bytes] = []

    def write(self, frame: bytes) -> None:
        self.sent.append(frame)

    def writelines(self, pieces: Any) -> None:
        self.sent.append(b"".join(pieces))


def connected() -> tuple[Connection, Wire]:
    client, wire = Connection(Failures()), Wire()
    client._transport = wire
    return client, wire


def whole(frame: Frame) -> bytes:
    return frame if isinstance(frame, bytes) else b"".join(frame)


def reply_to(request: bytes, rest: bytes) -> bytes:
    """Return a frame with the correlation id of `request`."""
    return (len(rest) + 4).to_bytes(4, "big") + request[8:12] + rest
