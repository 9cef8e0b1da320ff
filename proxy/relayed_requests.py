"""Requests on their way through a relay."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

from kohort.protocol.headers import RequestHeader
from kohort.proxy.tap import Overheard

NOT_KAFKA: Final = {
    b"\x16\x03\x01": "it speaks TLS; clients of the proxy speak plainly, and the proxy speaks TLS to the cluster",
    b"\x16\x03\x03": "it speaks TLS; clients of the proxy speak plainly, and the proxy speaks TLS to the cluster",
    b"GET": "it speaks HTTP; this port is for clients of Kafka",
}


class Asked(NamedTuple):
    """A request that waits for its answer."""

    key: int
    version: int
    correlation_id: int
    told: Callable[[bytes], None] | None = None
    """Gets the whole frame of the answer, in the client's place."""
    overheard: Overheard | None = None
    """What is told to who listens, with the answer."""
    kept_bytes: int = 0  # size of the request, if a listener keeps it until the response


class Inspected(NamedTuple):
    """A request that is not passed on: somebody decides what becomes of it."""

    header: RequestHeader
    frame: bytes
    """Its length included."""
    expects: bool
    """Whether it is answered at all."""


TOKEN: Final = Asked(-1, 0, 0)
"""Bytes of a login, which have no header."""
