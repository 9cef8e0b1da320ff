"""What was written to clients that do not read: all of it together is in memory, whoever it is for."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kohort.broker.cluster.broker_cluster import BrokerCluster


class Unread:
    """Counts it while a client is not spoken to because it does not read (`UNREAD_BYTES`)."""

    def __init__(self, cluster: BrokerCluster) -> None:
        self._cluster = cluster
        self._sizes: dict[object, int] = {}

    def note(self, connection: object, size_bytes: int = 0) -> None:
        """A client has so much to read before it is spoken to again; 0: nothing, or it is gone."""
        self._cluster.unread_bytes += size_bytes - self._sizes.pop(connection, 0)
        if size_bytes:
            self._sizes[connection] = size_bytes
