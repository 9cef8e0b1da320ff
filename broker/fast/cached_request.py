"""A request that a connection sends repeatedly, and the values with which it is answered the next time.

Only the parsed request is kept, and values that an API has looked up for it. Authorization is checked each time, and
observers receive every request.
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

PATIENCE: Final = 8  # maximum number of different requests of one length in succession

JOIN_GROUP: Final = 11  # API key


class CachedRequest(Repeated):
    """The last request of an API on a connection."""

    __slots__ = (
        "_candidate",
        "_content",
        "_generation",
        "_generation_at",
        "_misses",
        "_pattern",
        "encode_repeated",
        "handle_repeated",
        "kept",
    )

    def __init__(self) -> None:
        super().__init__()
        self.kept: Any = None  # value that the API's shortcut has stored for reuse
        # Handles the request. None: no offsets differ, and the API's handler is used.
        self.handle_repeated: Callable[[Any, CachedRequest, Ticket], Any] | None = None
        # Returns the encoded response (see `answer`). None: the request is handled.
        self.encode_repeated: Callable[[Any, CachedRequest, int], bytes | None] | None = None
        self._candidate = 0
        self._misses = 0
        self._content: bytes | None = None
        self._generation = ""
        self._generation_at = 0
        self._pattern: Pattern | None = None

    def answer(self, node: Any, now_ms: int) -> bytes | None:
        encode = self.encode_repeated
        return None if encode is None else encode(node, self, now_ms)

    def handle(self, node: Any, request: Any, ticket: Ticket) -> Any:
        handle = self.handle_repeated
        return ticket.api.handle(node, request, ticket) if handle is None else handle(node, self, ticket)

    def matches(self, frame: bytes, start: int) -> bool:
        """Return whether a frame is the same request except for `numbers`.

        Key and version have been compared before.
        """
        content = frame[start + AFTER_CORRELATION_ID :]
        pattern = self._pattern
        if pattern is not None:
            numbers = pattern.numbers(content)
            if numbers is None:
                return False
            self.numbers = numbers
        elif content != self._content and not self._is_of_another_generation(content):
            return False
        self._misses = self._candidate = 0
        return True

    def _is_of_another_generation(self, content: bytes) -> bool:
        """Return whether only the generation differs, and if so, set it in `request`."""
        cached, start = self._content, self._generation_at
        end = start + GENERATION_BYTES
        if not start or cached is None or content[:start] != cached[:start] or content[end:] != cached[end:]:
            return False
        self._content = content
        setattr(self.request, self._generation, INT.unpack_from(content, start)[0])
        return True

    def should_skip(
        self, api: Any, request: Any, frame: bytes, start: int, header: RequestHeader, numbers_at: NumbersAt
    ) -> bool:
        """Store a request that had to be parsed. Return whether too many in succession had to be.

        It replaces the cached request if the previous one had the same length. So single requests, such as the first
        OffsetFetch of a consumer or a heartbeat that acknowledges partitions, are not cached, and the one before them
        still is. A JoinGroup must have had the same bytes, because those of Java differ each time.
        """
        size = len(frame) - start
        begin = start + AFTER_CORRELATION_ID
        signature = hash(frame[begin:]) if header.api_key == JOIN_GROUP else size
        if signature != self._candidate:
            self._candidate = signature
            return False
        self._misses += 1
        self._content, self._pattern, self.request, self.kept, self.observed = None, None, None, None, None
        if self._misses > PATIENCE or size > LONGEST_BYTES:
            self._misses = PATIENCE - 1
            return header.api_key != JOIN_GROUP  # other requests of the member may still repeat
        numbers = numbers_at(header.api_version, frame, header.body_offset)
        if numbers is None:
            self._misses = 0  # other members' SyncGroups may repeat although a leader's never does
            return False
        number_size, positions, self._generation = numbers
        if number_size == OFFSET_BYTES and positions:
            self._pattern = Pattern(frame[begin:], [position - begin for position in positions])
        else:
            self._content = frame[begin:]
            self._generation_at = positions[0] - begin if positions else 0
        self.api, self.version, self.client_id = api, header.api_version, header.client_id or ""
        # kio's request is immutable and converts its fields at each access
        self.request = changed(api.request, request)
        return False
