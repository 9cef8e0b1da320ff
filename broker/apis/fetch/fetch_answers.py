"""Parts of a Fetch response that do not depend on records: duplicates, errors and grouping by topic."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kohort.protocol.errors import ErrorCode
from kohort.protocol.messages.fetch import FetchableTopicResponse, FetchPartition, PartitionData

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from uuid import UUID

    from kohort.broker.scheduling.cooperative import Task
    from kohort.protocol.messages.fetch import FetchTopic

    TopicAnswer = tuple[UUID | None, str, list[PartitionData]]


def ids_first(unknown: tuple[object, ...]) -> bool:
    """Return the sort key of an error: Kafka puts unknown topic ids before missing partitions."""
    data = unknown[-1]
    assert isinstance(data, PartitionData)
    return data.error_code is not ErrorCode.unknown_topic_id


def named_once(topics: Sequence[FetchTopic]) -> list[tuple[FetchTopic, Sequence[FetchPartition]]]:
    """Return each partition once, at its first position and with its last values (Kafka: `FetchRequest.fetchData`)."""
    if len({(topic.topic_id, topic.topic) for topic in topics}) == len(topics) and all(
        len(topic.partitions) < 2 or len({part.partition for part in topic.partitions}) == len(topic.partitions)
        for topic in topics
    ):
        return [(topic, topic.partitions) for topic in topics]
    partitions: dict[tuple[UUID | None, str, int], tuple[FetchTopic, FetchPartition]] = {}
    for topic in topics:
        for part in topic.partitions:
            partitions[topic.topic_id, topic.topic, part.partition] = topic, part
    grouped: list[tuple[FetchTopic, list[FetchPartition]]] = []
    for (topic_id, name, _), (topic, part) in partitions.items():
        if not grouped or (grouped[-1][0].topic_id, grouped[-1][0].topic) != (topic_id, name):
            grouped.append((topic, []))
        grouped[-1][1].append(part)
    return [*grouped]


def by_topic(
    answered: Iterable[tuple[UUID | None, str, PartitionData]], *, by_id: bool
) -> Task[list[TopicAnswer] | None]:
    """Group consecutive partitions of the same topic.

    Args:
        answered: Topic id and name for the response, and the partition.

    Returns:
        The topics, or None where Kafka fails: it compares the names of topics without an id, and finds none
        (`FetchResponse.matchingTopic`).
    """
    topics: list[TopicAnswer] = []
    last: object = None
    for topic_id, name, data in answered:
        if by_id and topics and topics[-1][0] is None:
            return None
        if last != (topic_id, name):
            last = topic_id, name
            topics.append((topic_id, name, []))
        topics[-1][2].append(data)
        yield
    return topics


def topic_response(topic: TopicAnswer) -> FetchableTopicResponse:
    topic_id, name, datas = topic
    return FetchableTopicResponse(topic_id=topic_id, topic=name, partitions=tuple(datas))


def unknown(part: FetchPartition, *, by_id: bool) -> PartitionData:
    """Return the error for an unknown topic id (`by_id`), topic or partition."""
    return refused(part, ErrorCode.unknown_topic_id if by_id else ErrorCode.unknown_topic_or_partition, ())


def refused(part: FetchPartition, error_code: ErrorCode, aborted: tuple[()] | None) -> PartitionData:
    """Return an error for a partition.

    Args:
        aborted: Kafka returns an empty list before it has looked up the partition, and null afterwards.
    """
    return PartitionData(
        partition_index=part.partition,
        error_code=error_code,
        high_watermark=-1,
        aborted_transactions=aborted,
        records=(),
    )
