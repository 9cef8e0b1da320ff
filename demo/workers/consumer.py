"""A consumer as the demo sees it, whatever its library."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, Protocol


@dataclass(frozen=True, kw_only=True)
class Part:
    """What one consumer is to be: its name, its group, and its patience."""

    name: str
    """Also its client id."""
    library: str
    bootstrap: str
    topic: str
    group: str
    instance: str | None = None
    """The group instance id of a static member."""
    cooperative: bool = False
    """Cooperative-sticky instead of range."""
    protocol: str = "classic"
    """Or consumer (KIP-848): then the coordinator assigns, and sets the session timeout and the heartbeat interval."""
    session_timeout_ms: int
    heartbeat_interval_ms: int
    max_poll_interval_ms: int
    """Java's name; on the wire it is the member's rebalance timeout."""


COMMIT_INTERVAL_MS = 200
"""A consumer that is killed leaves at most so much to be read again."""

POLL_MS = 100


class Fetched(NamedTuple):
    """A record that a library has handed out."""

    partition: int
    offset: int
    value: bytes


class Listener(NamedTuple):
    """Whom a library's callbacks go to; from whatever thread they come."""

    assigned: Callable[[list[int]], None]
    revoked: Callable[[list[int]], None]


class Consumer(Protocol):
    """The few things that the demo does with a consumer. Offsets are committed by the libraries themselves."""

    def join(self) -> None:
        """Subscribes; what follows happens within `poll`."""

    def poll(self) -> list[Fetched]:
        """What there is to process, after at most POLL_MS or a rebalance."""

    def identity(self) -> tuple[int, str]:
        """The generation and member id under which the last batch was handed out."""

    def processed(self) -> None:
        """The last batch may be committed."""

    def close(self) -> None:
        """Commits what was processed, and leaves the group unless the member is static."""
