"""The total of unread responses in memory, over all clients."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kohort.broker.cluster.broker_cluster import BrokerCluster


class Unread:
    """Counts unread bytes of clients that are not served because they do not read (`UNREAD_BYTES`)."""

    def __init__(self, cluster: BrokerCluster) -> None:
        self._cluster = cluster
        self._sizes: dict[object, int] = {}

    def note(self, connection: object, size_bytes: int = 0) -> None:
        """Set the unread bytes of a client; 0 if it is served again, or has disconnected."""
        self._cluster.unread_bytes += size_bytes - self._sizes.pop(connection, 0)
        if size_bytes:
            self._sizes[connection] = size_bytes
