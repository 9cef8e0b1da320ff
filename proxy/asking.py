"""The proxy's own requests to the cluster for the end offsets of partitions."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from contextlib import closing
from typing import TYPE_CHECKING, Any, Final, Protocol

from kohort.protocol.errors import ErrorCode
from kohort.protocol.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from kohort.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic

if TYPE_CHECKING:
    from kohort.protocol.topic_partition import TopicPartition
    from kohort.proxy.cluster_side import ClusterSide

LATEST: Final = -1  # Kafka's timestamp for the end of a log


class Reaches(Protocol):
    """Connector to the nodes of the cluster."""

    async def side_for_questions(self, address: tuple[str, int] | None = None) -> ClusterSide:
        """Return a connection for the proxy's own requests, to the given node or to any.

        Raise BrokerError on failure.
        """
        ...


async def log_ends(server: Reaches, requested: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
    """Return the end offsets of the partitions whose leaders respond.

    Raises:
        OSError: No node returns the leaders.
    """
    partitions = set(requested)
    with closing(await server.side_for_questions()) as first:
        topics = tuple(MetadataRequestTopic(name=name) for name in sorted({topic for topic, _ in partitions}))
        answer = await first.call("metadata", MetadataRequest(topics=topics, allow_auto_topic_creation=False))
    brokers = {broker.node_id: (broker.host, broker.port) for broker in answer.brokers}
    led: dict[int, list[TopicPartition]] = {}
    for topic in answer.topics:
        for part in topic.partitions:
            if (topic.name, part.partition_index) in partitions and part.leader_id in brokers:
                led.setdefault(part.leader_id, []).append((topic.name, part.partition_index))
    ends: dict[TopicPartition, int] = {}
    for part_ends in await asyncio.gather(*(_ends_at(server, brokers[node_id], led[node_id]) for node_id in led)):
        ends |= part_ends
    return ends


async def _ends_at(
    server: Reaches, address: tuple[str, int], partitions: list[TopicPartition]
) -> dict[TopicPartition, int]:
    try:
        with closing(await server.side_for_questions(address)) as leader:
            answer = await leader.call("list_offsets", _question(partitions))
    except OSError:
        return {}  # the end offsets from other leaders are still returned
    return {
        (topic.name, part.partition_index): part.offset
        for topic in answer.topics
        for part in topic.partitions
        if part.error_code is ErrorCode.none
    }


def _question(partitions: list[TopicPartition]) -> Any:
    by_topic: dict[str, list[ListOffsetsPartition]] = {}
    for topic, number in partitions:
        by_topic.setdefault(topic, []).append(ListOffsetsPartition(partition_index=number, timestamp=LATEST))
    topics = tuple(ListOffsetsTopic(name=name, partitions=tuple(parts)) for name, parts in by_topic.items())
    return ListOffsetsRequest(replica_id=-1, isolation_level=0, topics=topics)
