"""DescribeProducers (key 61), version 0 (KIP-664): producers with state in partitions, and their transactions."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from kohort.broker.apis.leadership import led_partition
from kohort.broker.scheduling.cooperative import Task, one_by_one
from kohort.protocol.errors import ErrorCode
from kohort.protocol.messages.describe_producers import (
    DescribeProducersRequest,
    DescribeProducersResponse,
    PartitionResponse,
    ProducerState,
    TopicResponse,
)
from kohort.security.rights import READ_TOPIC
from kohort.storage.topic_names import name_refusal

if TYPE_CHECKING:
    from kohort.broker.cluster.node import Node
    from kohort.broker.ticket import Ticket

# Kafka's message; it has none for a missing partition of a topic
NO_SUCH_TOPIC = "This server does not host this topic-partition."


def handle(node: Node, request: DescribeProducersRequest, ticket: Ticket) -> Task[DescribeProducersResponse]:
    topics = []
    for topic in request.topics:
        partitions = yield from one_by_one(partial(_describe, node, ticket, topic.name), topic.partition_indexes)
        topics.append(TopicResponse(name=topic.name, partitions=partitions))
    return DescribeProducersResponse(topics=tuple(topics))


def _describe(node: Node, ticket: Ticket, name: str, index: int) -> PartitionResponse:
    message = name_refusal(name)
    if message is not None:
        return _refused(index, ErrorCode.invalid_topic_exception, message)
    access = node.cluster.access
    if access is not None and not access.allows(ticket, READ_TOPIC, name):
        return _refused(index, ErrorCode.topic_authorization_failed, "Topic authorization failed.")
    topic = node.cluster.topics.by_name(name)
    if topic is None:
        return _refused(index, ErrorCode.unknown_topic_or_partition, NO_SUCH_TOPIC)
    partition = led_partition(node, topic, index)
    if isinstance(partition, ErrorCode):
        return _refused(index, partition, None)
    producers = () if partition.producers is None else partition.producers.described()
    return PartitionResponse(
        partition_index=index,
        error_code=ErrorCode.none,
        active_producers=tuple(
            ProducerState(
                producer_id=producer.producer_id,
                producer_epoch=producer.epoch,
                last_sequence=producer.last_sequence,
                last_timestamp=producer.last_timestamp,
                coordinator_epoch=producer.coordinator_epoch,
                current_txn_start_offset=producer.first_offset,
            )
            for producer in producers
        ),
    )


def _refused(index: int, error_code: ErrorCode, message: str | None) -> PartitionResponse:
    return PartitionResponse(partition_index=index, error_code=error_code, error_message=message, active_producers=())
