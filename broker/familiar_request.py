"""A request that a connection sends again and again, and what is kept to answer it the next time.

Only what reading makes of a request is kept, and what an API has looked up for it. Whoever asks is asked for their
rights each time, and whoever watches sees each of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from kohort.protocol.familiar import AFTER_CORRELATION_ID, LONGEST_BYTES, Pattern

if TYPE_CHECKING:
    from kohort.protocol.headers import RequestHeader

PATIENCE: Final = 8
"""So many requests of one length may follow one another that are all different."""

SKIPPED: Final = 256
"""So many requests of its connection are just read then: many members share it, perhaps, and none comes again soon."""

_NO_CONTENT: Final = object()


class Familiar:
    """The last request of one API, on one connection."""

    __slots__ = (
        "_content",
        "_misses",
        "_pattern",
        "_size",
        "api",
        "client_id",
        "kept",
        "numbers",
        "request",
        "version",
    )

    def __init__(self) -> None:
        self.api: Any
        """A `registry.Api`."""
        self.version: int
        self.client_id: str
        self.request: Any = None
        """As it was read the first time."""
        self.numbers: tuple[int, ...] = ()
        """Those of the request at hand that differ from it (see protocol/familiar.py)."""
        self.kept: Any = None
        """What the API has made of it, to use that again."""
        self._size = 0
        self._misses = 0
        self._content: object = _NO_CONTENT
        self._pattern: Pattern | None = None

    def comes_again(self, frame: bytes, start: int) -> bool:
        """Whether a frame is the same request, but for `numbers`. Key and version have been compared."""
        content = frame[start + AFTER_CORRELATION_ID :]
        pattern = self._pattern
        if pattern is None:
            if content != self._content:
                return False
        else:
            numbers = pattern.numbers(content)
            if numbers is None:
                return False
            self.numbers = numbers
        self._misses = 0
        return True

    def is_tired_of(self, api: Any, request: Any, frame: bytes, start: int, header: RequestHeader) -> bool:
        """Takes note of a request that had to be read. Returns whether too many in a row had to be.

        It is remembered if the one before had the same length: what comes once, as a consumer's first OffsetFetch,
        costs no memory that way.
        """
        if self.request is not None:
            self._content, self._pattern, self.request, self.kept = _NO_CONTENT, None, None, None
        size = len(frame) - start
        if size != self._size:
            self._size = size
            return False
        self._misses += 1
        if self._misses > PATIENCE or size > LONGEST_BYTES:
            self._misses = PATIENCE - 1
            return True
        places = api.numbers_at(header.api_version, frame, header.body_offset)
        if places is None:
            return False
        begin = start + AFTER_CORRELATION_ID
        if places:
            self._pattern = Pattern(frame[begin:], [place - begin for place in places])
        else:
            self._content = frame[begin:]
        self.api, self.version, self.client_id = api, header.api_version, header.client_id or ""
        self.request = request
        return False


NOBODY: Final[dict[bytes, Familiar]] = {}
"""What a connection knows that has sent nothing yet; always empty."""
