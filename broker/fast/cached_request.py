"""A request that a connection sends again and again, and what is kept to answer it the next time.

Only what reading makes of a request is kept, and what an API has looked up for it. Whoever asks is asked for their
rights each time, and whoever watches sees each of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from kohort.broker.fast.request_patterns import (
    AFTER_CORRELATION_ID,
    GENERATION_BYTES,
    LONGEST_BYTES,
    OFFSET_BYTES,
    NumbersAt,
    Pattern,
)
from kohort.broker.shortcuts import Repeated
from kohort.protocol.shape import changed
from kohort.protocol.wire import INT

if TYPE_CHECKING:
    from collections.abc import Callable

    from kohort.broker.ticket import Ticket
    from kohort.protocol.headers import RequestHeader

PATIENCE: Final = 8
"""At most this many requests of one length may follow one another that are all different."""

JOIN_GROUP: Final = 11
"""Its API key."""


class CachedRequest(Repeated):
    """The last request of one API, on one connection."""

    __slots__ = (
        "_before",
        "_content",
        "_generation",
        "_generation_at",
        "_misses",
        "_pattern",
        "encode_repeated",
        "handle_repeated",
        "kept",
        "numbers",
    )

    def __init__(self) -> None:
        super().__init__()
        self.numbers: tuple[int, ...] = ()
        """The offsets of the request at hand, which may differ from `request` (see request_patterns.py)."""
        self.kept: Any = None
        """What the API's shortcut has made of it, to use that again."""
        self.handle_repeated: Callable[[Any, CachedRequest, Ticket], Any] | None = None
        """Handles it; None: the API's handler does, as no offsets differ."""
        self.encode_repeated: Callable[[Any, CachedRequest, int], bytes | None] | None = None
        """See `answer`; None: it is handled."""
        self._before = 0
        self._misses = 0
        self._content: bytes | None = None
        self._generation = ""
        self._generation_at = 0
        self._pattern: Pattern | None = None

    def answer(self, node: Any, now_ms: int) -> bytes | None:
        """See `Repeated`."""
        encode = self.encode_repeated
        return None if encode is None else encode(node, self, now_ms)

    def handle(self, node: Any, request: Any, ticket: Ticket) -> Any:
        """See `Repeated`."""
        handle = self.handle_repeated
        return ticket.api.handle(node, request, ticket) if handle is None else handle(node, self, ticket)

    def matches(self, frame: bytes, start: int) -> bool:
        """Whether a frame is the same request, but for `numbers`. Key and version have been compared."""
        content = frame[start + AFTER_CORRELATION_ID :]
        pattern = self._pattern
        if pattern is not None:
            numbers = pattern.numbers(content)
            if numbers is None:
                return False
            self.numbers = numbers
        elif content != self._content and not self._is_of_another_generation(content):
            return False
        self._misses = 0
        return True

    def _is_of_another_generation(self, content: bytes) -> bool:
        """Whether nothing differs but the generation, which `request` then has."""
        known, at = self._content, self._generation_at
        after = at + GENERATION_BYTES
        if not at or known is None or content[:at] != known[:at] or content[after:] != known[after:]:
            return False
        self._content = content
        setattr(self.request, self._generation, INT.unpack_from(content, at)[0])
        return True

    def gives_up(
        self, api: Any, request: Any, frame: bytes, start: int, header: RequestHeader, numbers_at: NumbersAt
    ) -> bool:
        """Takes note of a request that had to be read. Returns whether too many in a row had to be.

        It is remembered if the one before had the same length: what comes once, as a consumer's first OffsetFetch,
        costs no memory that way. A JoinGroup must have had the same bytes: Java's have other ones each time.
        """
        if self.request is not None:
            self._content, self._pattern, self.request, self.kept = None, None, None, None
        size = len(frame) - start
        begin = start + AFTER_CORRELATION_ID
        before = hash(frame[begin:]) if header.api_key == JOIN_GROUP else size
        if before != self._before:
            self._before = before
            return False
        self._misses += 1
        if self._misses > PATIENCE or size > LONGEST_BYTES:
            self._misses = PATIENCE - 1
            return header.api_key != JOIN_GROUP  # a long one says nothing of its member's other requests
        numbers = numbers_at(header.api_version, frame, header.body_offset)
        if numbers is None:
            self._misses = 0  # a leader's SyncGroup does not say that others never repeat
            return False
        each, places, self._generation = numbers
        if each == OFFSET_BYTES and places:
            self._pattern = Pattern(frame[begin:], [place - begin for place in places])
        else:
            self._content = frame[begin:]
            self._generation_at = places[0] - begin if places else 0
        self.api, self.version, self.client_id = api, header.api_version, header.client_id or ""
        self.request = changed(api.request, request)  # kio's may not be changed, and converts its fields each time
        return False
