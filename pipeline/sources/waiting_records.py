"""Asks a cluster how many records wait for a group now: what it has committed, and where the logs end."""

from __future__ import annotations

from kohort.client.security import OPEN, Security
from kohort.pipeline.sources.source_cluster import LATEST, READ_UNCOMMITTED, SourceCluster, WireError
from kohort.pipeline.sources.source_connection import OFFSET_FETCH, Connection
from kohort.protocol.errors import ErrorCode
from kohort.protocol.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestGroup

Place = tuple[str, int]


class WaitingRecords:
    """Connections stay open between two questions."""

    def __init__(self, address: str, security: Security = OPEN) -> None:
        self._cluster = SourceCluster(address, security)

    def of(self, group: str) -> dict[Place, tuple[int, int]] | None:
        """By partition: the committed offset, and the log's end where that is further. None: nobody tells."""
        try:
            committed = self._committed(group)
            if committed is None:
                return None
            about = self._cluster.metadata(tuple(sorted({topic for topic, _ in committed})))
            ends = self._cluster.offsets(about, LATEST, READ_UNCOMMITTED)
        except (OSError, LookupError, TypeError, ValueError):  # it is away, or answers what no Kafka does
            return None
        return {place: (offset, ends[place]) for place, offset in committed.items() if ends.get(place, -1) > offset}

    def close(self) -> None:
        """Hangs up."""
        self._cluster.close()

    def _committed(self, group: str) -> dict[Place, int] | None:
        for broker in self._cluster.metadata(()).brokers:
            try:
                found = _fetched(self._cluster.connection(broker.host, broker.port), group)
            except WireError:
                continue
            if found is not None:
                return found
        return None


def _fetched(connection: Connection, group: str) -> dict[Place, int] | None:
    """None: this broker is not the group's coordinator, or doesn't let us ask."""
    if connection.version(OFFSET_FETCH) is None:
        return None
    asked = OffsetFetchRequestGroup(group_id=group, topics=None)
    (answer,) = connection.ask(OFFSET_FETCH, OffsetFetchRequest(groups=(asked,))).groups
    if answer.error_code is not ErrorCode.none:
        return None
    return {
        (topic.name, part.partition_index): part.committed_offset
        for topic in answer.topics
        for part in topic.partitions
        if part.error_code is ErrorCode.none and part.committed_offset >= 0
    }
