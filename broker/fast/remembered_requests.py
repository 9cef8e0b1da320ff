"""Cache of a connection's requests: the last one of each API whose requests can repeat."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from kohort.broker.fast.cached_request import CachedRequest
from kohort.broker.fast.request_patterns import KEY_AND_VERSION, NUMBERS_AT
from kohort.broker.scheduling.fair_scheduler import JOINS
from kohort.broker.shortcuts import Shortcuts

if TYPE_CHECKING:
    from kohort.protocol.headers import RequestHeader

# Requests of a connection that are only parsed after too many misses: many members share it, so none repeats soon.
SKIPPED: Final = 256

# modules with shortcuts of single APIs
REPEATED: Final = {
    "consumer_group_heartbeat": "repeated_consumer_heartbeats",
    "heartbeat": "repeated_heartbeats",
    "offset_commit": "repeated_commits",
    "offset_fetch": "repeated_fetches",
    "streams_group_heartbeat": "repeated_streams_heartbeats",
}


class NewConnection(Shortcuts):
    """Shared state of connections that have not sent a repeatable request yet."""

    __slots__ = ()

    def learn(self, api: Any, request: Any, frame: bytes, start: int, header: RequestHeader) -> Shortcuts:
        """Start to cache requests. Those of a rebalance alone are not cached, because a member usually joins once."""
        if header.api_key in JOINS or api.spec.name not in NUMBERS_AT:
            return self
        return RememberedRequests().learn(api, request, frame, start, header)


class RememberedRequests(Shortcuts):
    """Cache of a connection whose requests may repeat."""

    __slots__ = ("requests", "skips")

    def __init__(self) -> None:
        self.requests: dict[bytes, CachedRequest] = {}  # by API key and version; only one version of an API is kept
        self.skips = 0  # number of requests to be parsed without a lookup

    def find(self, frame: bytes, start: int) -> CachedRequest | None:
        if self.skips:
            return None
        cached = self.requests.get(frame[start : start + KEY_AND_VERSION])
        return cached if cached is not None and cached.matches(frame, start) else None

    def learn(self, api: Any, request: Any, frame: bytes, start: int, header: RequestHeader) -> Shortcuts:
        if self.skips:
            self.skips -= 1
            return self
        numbers_at = NUMBERS_AT.get(api.spec.name)
        if numbers_at is None:
            return self
        name = frame[start : start + KEY_AND_VERSION]
        cached = self.requests.get(name)
        if cached is None:
            for other in [key for key in self.requests if key[:2] == name[:2]]:
                del self.requests[other]
            cached = self.requests[name] = _new(api.spec.name)
        if cached.should_skip(api, request, frame, start, header, numbers_at):
            self.skips = SKIPPED
        return self


def _new(api: str) -> CachedRequest:
    cached = CachedRequest()
    file = REPEATED.get(api)
    if file is not None:
        module = import_module(f"kohort.broker.fast.{file}")
        cached.handle_repeated = getattr(module, "handle_repeated", None)
        cached.encode_repeated = getattr(module, "encode_repeated", None)
    return cached


SHORTCUTS: Final = NewConnection()  # initial state of every connection
