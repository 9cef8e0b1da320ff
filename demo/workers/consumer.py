"""Interface of a consumer, whatever its library."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, Protocol


@dataclass(frozen=True, kw_only=True)
class Part:
    """Name, group and settings of one consumer."""

    name: str  # also its client id
    library: str
    bootstrap: str
    topic: str
    group: str
    instance: str | None = None  # group instance id of a static member
    cooperative: bool = False  # cooperative-sticky instead of range
    # or consumer (KIP-848): the coordinator assigns, and sets session timeout and heartbeat interval
    protocol: str = "classic"
    session_timeout_ms: int
    heartbeat_interval_ms: int
    max_poll_interval_ms: int  # Java's name; the rebalance timeout in requests


COMMIT_INTERVAL_MS = 200  # records of at most this time are read again after a consumer is killed

POLL_MS = 100


class Fetched(NamedTuple):
    """A record that a library has returned."""

    partition: int
    offset: int
    value: bytes


class Listener(NamedTuple):
    """Callbacks of a library; any thread may call them."""

    assigned: Callable[[list[int]], None]
    revoked: Callable[[list[int]], None]


class Consumer(Protocol):
    """Operations of a consumer that the demo needs. The libraries commit offsets themselves."""

    def join(self) -> None:
        """Subscribe; the join happens within `poll`."""

    def poll(self) -> list[Fetched]:
        """Return the records to process, after at most POLL_MS or a rebalance."""

    def identity(self) -> tuple[int, str]:
        """Return generation and member id of the last batch."""

    def processed(self) -> None:
        """Allow the commit of the last batch."""

    def close(self) -> None:
        """Commit the processed records, and leave the group unless the member is static."""
