"""Questions of the proxy's own to the cluster: where partitions end, asked of their leaders."""

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

LATEST: Final = -1
"""Kafka's number for the end of a log."""


class Reaches(Protocol):
    """Who connects to the cluster's nodes."""

    async def side_for_questions(self, address: tuple[str, int] | None = None) -> ClusterSide:
        """A connection that is no client's, to a node or to any. Raises BrokerError."""
        ...


async def log_ends(server: Reaches, wanted: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
    """The ends of partitions whose leaders answer. Raises OSError where no node says who leads."""
    partitions = set(wanted)
    with closing(await server.side_for_questions()) as first:
        topics = tuple(MetadataRequestTopic(name=name) for name in sorted({topic for topic, _ in partitions}))
        answer = await first.asks("metadata", MetadataRequest(topics=topics, allow_auto_topic_creation=False))
    brokers = {each.node_id: (each.host, each.port) for each in answer.brokers}
    led: dict[int, list[TopicPartition]] = {}
    for topic in answer.topics:
        for part in topic.partitions:
            if (topic.name, part.partition_index) in partitions and part.leader_id in brokers:
                led.setdefault(part.leader_id, []).append((topic.name, part.partition_index))
    found: dict[TopicPartition, int] = {}
    for each in await asyncio.gather(*(_ends_at(server, brokers[node_id], those) for node_id, those in led.items())):
        found |= each
    return found


async def _ends_at(
    server: Reaches, address: tuple[str, int], partitions: list[TopicPartition]
) -> dict[TopicPartition, int]:
    try:
        with closing(await server.side_for_questions(address)) as leader:
            answer = await leader.asks("list_offsets", _question(partitions))
    except OSError:
        return {}  # the ends that other leaders have said count all the same
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
