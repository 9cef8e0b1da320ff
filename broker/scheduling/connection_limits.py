"""Limits on how much one connection buffers."""

from typing import Final

WAITING_BYTES: Final = 65_536
"""Bytes of unhandled requests that a connection may hold. Above this its socket is not read, until all complete
requests have been handled. The beginning of the next request does not count, because a request may be much larger.
A client that waits for its responses has at most one request here.
"""

# Bytes of responses that a client may leave unread. Above this its requests are not handled. One response may be
# larger.
UNREAD_BYTES: Final = 262_144

REPLIES_TOGETHER: Final = 32  # responses written in one call; small enough to notice UNREAD_BYTES in time

# responses of this size or more are written one by one, for the same reason; smaller ones are joined
LARGE_REPLY: Final = 32_768
