"""Short forms of requests of the data APIs, for the broker of `broker.py`."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from kohort.protocol.errors import ErrorCode
from kohort.protocol.messages.create_topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
)
from kohort.protocol.messages.delete_topics import DeleteTopicState
from kohort.protocol.messages.fetch import FetchPartition, FetchTopic
from kohort.protocol.messages.list_offsets import ListOffsetsPartition, ListOffsetsTopic
from kohort.protocol.messages.produce import PartitionProduceData, TopicProduceData
from tests.support.batches import contents
from tests.support.broker import Client
from tests.support.frames import frame

NOW_MS = 1_700_000_000_000  # the wall clock of a `ManualClock` that was not moved

UNKNOWN_ID = UUID("00000000-0000-4000-8000-000000000001")


def topic(
    name: str,
    partitions: int = 1,
    replicas: int = 1,
    assignments: dict[int, tuple[int, ...]] | None = None,
    configs: dict[str, str | None] | None = None,
) -> CreatableTopic:
    """Return a topic for CreateTopics."""
    return CreatableTopic(
        name=name,
        num_partitions=partitions,
        replication_factor=replicas,
        assignments=tuple(
            CreatableReplicaAssignment(partition_index=index, broker_ids=nodes)
            for index, nodes in (assignments or {}).items()
        ),
        configs=tuple(CreatableTopicConfig(name=key, value=value) for key, value in (configs or {}).items()),
    )


def given_topic(client: Client, name: str = "topic", partitions: int = 1, **configs: str) -> UUID:
    """Create a topic and return its id."""
    settings: dict[str, str | None] = {key.replace("_", "."): value for key, value in configs.items()}
    response = client.asks("create_topics", 7, topics=(topic(name, partitions, configs=settings),))
    assert response.topics[0].error_code == ErrorCode.none
    topic_id: UUID = response.topics[0].topic_id
    return topic_id


def delete(client: Client, name: str = "topic") -> None:
    """Delete a topic."""
    response = client.asks("delete_topics", 6, timeout_ms=10_000, topics=(DeleteTopicState(name=name, topic_id=None),))
    assert response.responses[0].error_code == ErrorCode.none


def production(
    records: bytes | None, name: str = "topic", index: int = 0, acks: int = -1, **more: Any
) -> dict[str, Any]:
    """Return the fields of a Produce request for one partition."""
    topic_id = more.pop("topic_id", None)
    data = PartitionProduceData(index=index, records=records)
    return {
        "acks": acks,
        "timeout_ms": 1_000,
        "topic_data": (TopicProduceData(name=name, topic_id=topic_id, partition_data=(data,)),),
        **more,
    }


def produce(
    client: Client, records: bytes | None, name: str = "topic", index: int = 0, version: int = 9, **more: Any
) -> Any:
    """Produce a batch to one partition and return the response."""
    response = client.asks("produce", version, **production(records, name, index, **more))
    return response.responses[0].partition_responses[0]


def fetch_frame(
    *offsets: tuple[str | UUID, int, int],
    version: int = 12,
    max_wait_ms: int = 0,
    min_bytes: int = 1,
    partition_max_bytes: int = 1 << 20,
    epoch: int = -1,
    **more: Any,
) -> bytes:
    """Build a Fetch request from tuples of topic name or id, partition and offset."""
    topics = tuple(
        FetchTopic(
            topic=name if isinstance(name, str) else "",
            topic_id=name if isinstance(name, UUID) else None,
            partitions=(
                FetchPartition(
                    partition=index,
                    fetch_offset=offset,
                    partition_max_bytes=partition_max_bytes,
                    current_leader_epoch=epoch,
                ),
            ),
        )
        for name, index, offset in offsets
    )
    return frame("fetch", version, 77, topics=topics, max_wait_ms=max_wait_ms, min_bytes=min_bytes, **more)


def fetch(client: Client, *offsets: tuple[str | UUID, int, int], version: int = 12, **more: Any) -> Any:
    """Send a fetch and return its immediate response."""
    client.says(fetch_frame(*offsets, version=version, **more))
    return heard_fetch(client, version)


def heard_fetch(client: Client, version: int = 12) -> Any:
    """Return the response of a delayed fetch."""
    ((_, response),) = client.hears("fetch", version)
    return response


def records(response: Any) -> list[tuple[int, bytes | None, bytes | None]]:
    """Return offset, key and value of each record in a Fetch response."""
    return [
        record
        for answer in response.responses
        for part in answer.partitions
        if part.records
        for record in contents(list(part.records))
    ]


def offset_at(
    client: Client, timestamp: int, name: str = "topic", index: int = 0, version: int = 9, epoch: int = -1
) -> Any:
    """Query one partition with ListOffsets and return the response."""
    part = ListOffsetsPartition(partition_index=index, timestamp=timestamp, current_leader_epoch=epoch)
    response = client.asks(
        "list_offsets", version, replica_id=-1, topics=(ListOffsetsTopic(name=name, partitions=(part,)),)
    )
    return response.topics[0].partitions[0]
