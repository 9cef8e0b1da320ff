"""What a connection remembers of its requests: the last of each API whose requests may come again."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from kohort.broker.fast.cached_request import CachedRequest
from kohort.broker.fast.request_patterns import KEY_AND_VERSION, NUMBERS_AT
from kohort.broker.scheduling.fair_scheduler import JOINS
from kohort.broker.shortcuts import Shortcuts

if TYPE_CHECKING:
    from kohort.protocol.headers import RequestHeader

SKIPPED: Final = 256
"""This many requests of a connection are just read when it gives up: many members share it, none comes again soon."""

REPEATED: Final = {
    "consumer_group_heartbeat": "repeated_consumer_heartbeats",
    "heartbeat": "repeated_heartbeats",
    "offset_commit": "repeated_commits",
    "offset_fetch": "repeated_fetches",
}
"""The files that have shortcuts of single APIs."""


class Stranger(Shortcuts):
    """A connection that has sent nothing yet that may come again. All of them share one."""

    __slots__ = ()

    def learn(self, api: Any, request: Any, frame: bytes, start: int, header: RequestHeader) -> Shortcuts:
        """A rebalance alone is not remembered: a member joins once, as a rule."""
        if header.api_key in JOINS or api.spec.name not in NUMBERS_AT:
            return self
        return RememberedRequests().learn(api, request, frame, start, header)


class RememberedRequests(Shortcuts):
    """A connection that repeats itself, perhaps."""

    __slots__ = ("requests", "skips")

    def __init__(self) -> None:
        self.requests: dict[bytes, CachedRequest] = {}
        """By API key and version; other versions of an API are forgotten."""
        self.skips = 0
        """This many requests are read next without a look at them."""

    def find(self, frame: bytes, start: int) -> CachedRequest | None:
        """See `Shortcuts`."""
        if self.skips:
            return None
        cached = self.requests.get(frame[start : start + KEY_AND_VERSION])
        return cached if cached is not None and cached.matches(frame, start) else None

    def learn(self, api: Any, request: Any, frame: bytes, start: int, header: RequestHeader) -> Shortcuts:
        """See `Shortcuts`."""
        if self.skips:
            self.skips -= 1
            return self
        numbers_at = NUMBERS_AT.get(api.spec.name)
        if numbers_at is None:
            return self
        name = frame[start : start + KEY_AND_VERSION]
        cached = self.requests.get(name)
        if cached is None:
            for other in [each for each in self.requests if each[:2] == name[:2]]:
                del self.requests[other]
            cached = self.requests[name] = _new(api.spec.name)
        if cached.gives_up(api, request, frame, start, header, numbers_at):
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


SHORTCUTS: Final = Stranger()
"""What every connection begins with."""
