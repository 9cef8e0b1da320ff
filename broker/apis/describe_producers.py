"""DescribeProducers (key 61), version 0 (KIP-664): the producers that partitions remember, and their transactions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kohort.broker.apis.leadership import led_partition
from kohort.protocol.errors import ErrorCode
from kohort.protocol.messages.describe_producers import (
    DescribeProducersRequest,
    DescribeProducersResponse,
    PartitionResponse,
    ProducerState,
    TopicResponse,
)

if TYPE_CHECKING:
    from kohort.broker.cluster.node import Node
    from kohort.broker.ticket import Ticket


def handle(node: Node, request: DescribeProducersRequest, ticket: Ticket) -> DescribeProducersResponse:
    """One answer for each partition."""
    return DescribeProducersResponse(
        topics=tuple(
            TopicResponse(
                name=topic.name,
                partitions=tuple(_describe(node, topic.name, index) for index in topic.partition_indexes),
            )
            for topic in request.topics
        )
    )


def _describe(node: Node, name: str, index: int) -> PartitionResponse:
    partition = led_partition(node, node.cluster.topics.by_name(name), index)
    if isinstance(partition, ErrorCode):
        return PartitionResponse(partition_index=index, error_code=partition, active_producers=())
    producers = () if partition.producers is None else partition.producers.described()
    return PartitionResponse(
        partition_index=index,
        error_code=ErrorCode.none,
        active_producers=tuple(
            ProducerState(
                producer_id=each.producer_id,
                producer_epoch=each.epoch,
                last_sequence=each.last_sequence,
                last_timestamp=each.last_timestamp,
                coordinator_epoch=each.coordinator_epoch,
                current_txn_start_offset=each.first_offset,
            )
            for each in producers
        ),
    )
