"""Requests on their way through a relay."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

from kohort.protocol.headers import RequestHeader
from kohort.proxy.tap import ObservedCall

NOT_KAFKA: Final = {
    b"\x16\x03\x01": "a TLS connection; connect to the proxy without TLS, the proxy itself uses TLS to the cluster",
    b"\x16\x03\x03": "a TLS connection; connect to the proxy without TLS, the proxy itself uses TLS to the cluster",
    b"GET": "an HTTP request; this port is for Kafka clients",
}


class Pending(NamedTuple):
    """Request that waits for its response."""

    key: int
    version: int
    correlation_id: int
    on_response: Callable[[bytes], None] | None = None  # receives the whole frame of the response instead of the client
    observed: ObservedCall | None = None  # for listeners, completed by the response
    kept_bytes: int = 0  # size of the request, if a listener keeps it until the response


class Inspected(NamedTuple):
    """Request that is held while rules and gates decide about it."""

    header: RequestHeader
    frame: bytes  # with its length
    expects: bool  # whether it has a response


TOKEN: Final = Pending(-1, 0, 0)  # bytes of a login, which have no header
