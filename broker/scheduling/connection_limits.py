"""How much one connection holds of what can be neither handled nor written yet."""

from typing import Final

WAITING_BYTES: Final = 65_536
"""What a connection may hold of requests that cannot be handled yet; above, its socket is not read any more, and
the client has to wait. It is read on when all whole requests have been handled, however much is there of the next
one: a request may be much larger. A client that waits for its replies holds at most one."""

UNREAD_BYTES: Final = 262_144
"""What a client may leave unread; above, its requests are not handled before it reads. One reply may be larger."""

REPLIES_TOGETHER: Final = 32
"""WriteBatch that are written at once at most, so that UNREAD_BYTES is noticed in time."""

LARGE_REPLY: Final = 32_768
"""WriteBatch from this size on are written one by one, for the same reason; others are joined."""
