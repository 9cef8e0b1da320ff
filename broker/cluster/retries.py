"""Retries of calls between nodes on behalf of share groups.

Source: Kafka's `PersisterStateManager`, `ShareGroupDLQStateManager`, `ExponentialBackoffManager`.
"""

from typing import Final

MAX_ATTEMPTS: Final = 5
# Twice Kafka's REQUEST_BACKOFF_MS: Kafka counts the attempt before it computes the backoff. The maximum backoff is not
# reached. Kafka adds a jitter of 20 %.
_FIRST_BACKOFF_MS: Final = 2_000


def backoff_ms(attempts: int) -> int:
    """Return the delay after this many failed attempts. All delays together take half a minute."""
    return _FIRST_BACKOFF_MS << (attempts - 1)
