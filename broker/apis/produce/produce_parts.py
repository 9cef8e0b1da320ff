"""Parts of Produce requests and of their responses."""

from __future__ import annotations

from collections.abc import Iterator
from uuid import UUID

from kohort.broker.scheduling.request_chunks import runs
from kohort.protocol.batches import TRANSACTIONAL
from kohort.protocol.messages.leaders import NodeEndpoint
from kohort.protocol.messages.produce import (
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
    TopicProduceResponse,
)
from kohort.protocol.shape import changed


def chunks_of(request: ProduceRequest) -> Iterator[ProduceRequest]:
    for run in runs(request.topic_data, "partition_data"):
        data = tuple(changed(TopicProduceData, topic, partition_data=parts) for topic, parts in run)
        yield changed(ProduceRequest, request, topic_data=data)


def merged(answers: list[ProduceResponse]) -> ProduceResponse:
    topics: list[TopicProduceResponse] = []
    nodes: dict[int, NodeEndpoint] = {}
    for answer in answers:
        nodes |= {endpoint.node_id: endpoint for endpoint in answer.node_endpoints}
        for topic in answer.responses:
            if topics and (topics[-1].name, topics[-1].topic_id) == (topic.name, topic.topic_id):
                topics[-1].partition_responses += topic.partition_responses
            else:
                topics.append(topic)
    return ProduceResponse(responses=tuple(topics), node_endpoints=tuple(nodes.values()))


def topic_response(key: UUID | str | None, answers: tuple[PartitionProduceResponse, ...]) -> TopicProduceResponse:
    if isinstance(key, str):
        return TopicProduceResponse(name=key, partition_responses=answers)
    return TopicProduceResponse(topic_id=key, partition_responses=answers)


def has_transactional_records(request: ProduceRequest) -> bool:
    for data in request.topic_data:
        for part in data.partition_data:
            records = part.records
            if records is not None and len(records) > 22 and records[22] & TRANSACTIONAL:
                return True
    return False
