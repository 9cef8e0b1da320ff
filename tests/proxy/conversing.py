"""A client and a node that speak through a relay, without sockets."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from kohort.protocol.wire import INT, SHORT
from kohort.proxy.relay import Relay


class Elsewhere:
    """All nodes are at one host."""

    def address(self, node_id: int, host: str, port: int) -> tuple[str, int]:
        return "proxy", port

    def listed(self, node_ids: set[int]) -> None:
        pass


def asks(relay: Relay, *data: bytes) -> bytes:
    """Return what the node receives of what a client sends in one read."""
    sent = relay.requests(b"".join(data))
    while relay.has_more_requests:
        sent += relay.requests(b"")
    return b"".join(map(bytes, sent))


def hears(relay: Relay, *data: bytes) -> bytes:
    """Return what the client receives of what the node sends in one read."""
    received = relay.answers(b"".join(data))
    while relay.has_more_answers:
        received += relay.answers(b"")
    return b"".join(map(bytes, received))


def answer(correlation_id: int, body: bytes = b"") -> bytes:
    """Return a frame of a node."""
    return INT.pack(4 + len(body)) + INT.pack(correlation_id) + body


def unknown(key: int, version: int, correlation_id: int, body: bytes = b"\x00?") -> bytes:
    """Return a request of an API that the proxy does not know."""
    data = SHORT.pack(key) + SHORT.pack(version) + INT.pack(correlation_id) + b"\xff\xff" + (body or b"\x00")
    return INT.pack(len(data)) + data


def through(chance: Random, data: bytes, passes: Callable[[bytes], bytes]) -> bytes:
    """Return the complete output for data in pieces of any size."""
    out, at = b"", 0
    while at < len(data):
        size = chance.choice((1, 2, 5, 50, 3_000))
        out += passes(data[at : at + size])
        at += size
    return out
