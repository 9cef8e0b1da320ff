"""Committed offsets and log end offsets of a group's partitions, for the number of records that wait for it."""

from __future__ import annotations

from kohort.client.security import OPEN, Security
from kohort.pipeline.sources.source_cluster import LATEST, READ_UNCOMMITTED, SourceCluster, WireError
from kohort.pipeline.sources.source_connection import OFFSET_FETCH, Connection
from kohort.protocol.errors import ErrorCode
from kohort.protocol.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestGroup

Place = tuple[str, int]


class WaitingRecords:
    """Queries of a cluster over connections that stay open."""

    def __init__(self, address: str, security: Security = OPEN) -> None:
        self._cluster = SourceCluster(address, security)

    def of(self, group: str) -> dict[Place, tuple[int, int]] | None:
        """Return committed offset and log end of each partition with lag, or None if they can't be queried."""
        try:
            committed = self._committed(group)
            if not committed:  # the group has commits: none is returned of topics that the user may not describe
                return None
            about = self._cluster.metadata(tuple(sorted({topic for topic, _ in committed})))
            ends = self._cluster.offsets(about, LATEST, READ_UNCOMMITTED)
        except (OSError, LookupError, TypeError, ValueError):  # unreachable, or not a Kafka cluster
            return None
        return {
            partition: (offset, ends[partition])
            for partition, offset in committed.items()
            if ends.get(partition, -1) > offset
        }

    def close(self) -> None:
        self._cluster.close()

    def _committed(self, group: str) -> dict[Place, int] | None:
        for broker in self._cluster.metadata(()).brokers:
            try:
                offsets = _fetched(self._cluster.connection(broker.host, broker.port), group)
            except WireError:
                continue
            if offsets is not None:
                return offsets
        return None


def _fetched(connection: Connection, group: str) -> dict[Place, int] | None:
    if connection.version(OFFSET_FETCH) is None:
        return None
    requested_group = OffsetFetchRequestGroup(group_id=group, topics=None)
    (answer,) = connection.ask(OFFSET_FETCH, OffsetFetchRequest(groups=(requested_group,))).groups
    if answer.error_code is not ErrorCode.none:
        return None
    return {
        (topic.name, part.partition_index): part.committed_offset
        for topic in answer.topics
        for part in topic.partitions
        if part.error_code is ErrorCode.none and part.committed_offset >= 0
    }
