"""Parts of a Fetch response that do not depend on what is read: which partitions are named, refused and together."""

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
    """Kafka answers ids that nobody knows before partitions that a topic does not have."""
    data = unknown[-1]
    assert isinstance(data, PartitionData)
    return data.error_code is not ErrorCode.unknown_topic_id


def named_once(topics: Sequence[FetchTopic]) -> list[tuple[FetchTopic, Sequence[FetchPartition]]]:
    """Each partition once, where it was named first and as it was named last (Kafka: `FetchRequest.fetchData`)."""
    if len({(asked.topic_id, asked.topic) for asked in topics}) == len(topics) and all(
        len(asked.partitions) < 2 or len({part.partition for part in asked.partitions}) == len(asked.partitions)
        for asked in topics
    ):
        return [(asked, asked.partitions) for asked in topics]
    wanted: dict[tuple[UUID | None, str, int], tuple[FetchTopic, FetchPartition]] = {}
    for asked in topics:
        for part in asked.partitions:
            wanted[asked.topic_id, asked.topic, part.partition] = asked, part
    found: list[tuple[FetchTopic, list[FetchPartition]]] = []
    for (topic_id, name, _), (asked, part) in wanted.items():
        if not found or (found[-1][0].topic_id, found[-1][0].topic) != (topic_id, name):
            found.append((asked, []))
        found[-1][1].append(part)
    return [*found]


def by_topic(
    answered: Iterable[tuple[UUID | None, str, PartitionData]], *, by_id: bool
) -> Task[list[TopicAnswer] | None]:
    """Put partitions together that follow one another and belong to one topic.

    answered: Id and name under which it is answered, and a partition. Returns None where Kafka fails: it compares names
    of topics without an id, and finds none (`FetchResponse.matchingTopic`).
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
    """`by_id`: it is the topic's id that nobody knows."""
    return refused(part, ErrorCode.unknown_topic_id if by_id else ErrorCode.unknown_topic_or_partition, ())


def refused(part: FetchPartition, error_code: ErrorCode, aborted: tuple[()] | None) -> PartitionData:
    """`aborted`: Kafka answers an empty list before it has looked at the partition, and null afterwards."""
    return PartitionData(
        partition_index=part.partition,
        error_code=error_code,
        high_watermark=-1,
        aborted_transactions=aborted,
        records=(),
    )
