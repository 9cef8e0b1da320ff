"""Topics: creating them, adding partitions and records, without a Kafka client."""

from __future__ import annotations

from base64 import b64encode
from itertools import islice
from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import BaseModel, Field

from kohort.control.http.body import Body
from kohort.control.http.documenting import NOT_THERE, refusals
from kohort.control.http.endpoint_context import TheLaboratory
from kohort.control.lab_topics import StoredRecord
from kohort.control.laboratory import Laboratory
from kohort.storage.placement import NO_LEADER
from kohort.storage.topic import Topic

router = APIRouter(prefix="/topics", tags=["topics"])
MAX_RECORDS = 10_000


class NewTopic(Body):
    """A topic to create."""

    name: str
    partitions: int = Field(1, ge=1)
    replicas: int | None = Field(None, ge=1, description="number of replicas; null: as configured for the brokers")
    configs: dict[str, str] = Field({}, description="by Kafka's names; other configs have the cluster's defaults")


class MorePartitions(Body):
    """New number of partitions of a topic."""

    partitions: int = Field(ge=1, description="new number of partitions")


class NewRecords(Body):
    """Records of one batch."""

    values: list[str | None] = Field(min_length=1, description="null: a tombstone")
    key: str | None = Field(None, description="key of all records")
    headers: dict[str, str | None] = Field({}, description="headers of all records")
    partition: int = Field(0, ge=0)
    timestamp_ms: int | None = Field(None, ge=0, description="of all records, since 1970; null: the brokers' time")


class Appended(BaseModel):
    """Position of appended records."""

    offset: int = Field(description="offset of the first record")


class Trim(Body):
    """Records to delete from a partition."""

    before: int = Field(ge=0, description="records before this offset are deleted")
    partition: int = Field(0, ge=0)


class Bytes(BaseModel):
    """A key, a value, or a header's value."""

    text: str | None = Field(description="null if the bytes are not UTF-8")
    base64: str


class HeaderState(BaseModel):
    """A header of a record; a name may occur more than once."""

    name: str
    value: Bytes | None


class RecordState(BaseModel):
    """A record as it is stored in the log of a partition."""

    partition: int
    offset: int
    timestamp_ms: int
    key: Bytes | None
    value: Bytes | None = Field(description="null: a tombstone")
    headers: list[HeaderState]


class PartitionState(BaseModel):
    """The log of a partition."""

    partition: int
    start_offset: int
    end_offset: int = Field(description="offset of the next record")
    size_bytes: int
    leader: int | None = Field(description="null: all nodes with a replica are stopped")
    replicas: list[int] = Field(description="the preferred leader first")
    in_sync: list[int]


class TopicState(BaseModel):
    """A topic."""

    name: str
    id: str
    internal: bool
    configs: dict[str, str] = Field(description="configs that were set for the topic")
    partitions: list[PartitionState]


@router.get("")
async def list_topics(laboratory: TheLaboratory) -> list[TopicState]:
    """List all topics, including internal ones, in the order in which they were created."""
    return [_state(laboratory, topic) for topic in laboratory.cluster.topics]


@router.post("", status_code=201)
async def create(topic: NewTopic, laboratory: TheLaboratory) -> TopicState:
    """Create a topic, with its leaders spread over the nodes."""
    laboratory.topics.create(topic.name, topic.partitions, topic.configs, topic.replicas)
    return _state(laboratory, laboratory.topics.find(topic.name))


@router.get("/{topic}", responses=refusals(NOT_THERE))
async def read(topic: str, laboratory: TheLaboratory) -> TopicState:
    """Return one topic."""
    return _state(laboratory, laboratory.topics.find(topic))


@router.post("/{topic}/partitions", responses=refusals(NOT_THERE))
async def create_partitions(topic: str, more: MorePartitions, laboratory: TheLaboratory) -> TopicState:
    """Add partitions to a topic. Consumers discover them with their next metadata request."""
    laboratory.topics.create_partitions(topic, more.partitions)
    return _state(laboratory, laboratory.topics.find(topic))


@router.post("/{topic}/records", status_code=201, responses=refusals(NOT_THERE))
async def append(topic: str, records: NewRecords, laboratory: TheLaboratory) -> Appended:
    """Append records as one batch, and wake waiting fetches."""
    offset = laboratory.topics.append(
        topic,
        *records.values,
        partition=records.partition,
        key=records.key,
        headers=records.headers,
        timestamp=records.timestamp_ms,
    )
    return Appended(offset=offset)


@router.get("/{topic}/records", responses=refusals(NOT_THERE))
async def records(
    topic: str,
    laboratory: TheLaboratory,
    partition: Annotated[int | None, Query(ge=0, description="left out: all partitions, one after the other")] = None,
    offset: Annotated[int, Query(ge=0, description="first offset")] = 0,
    since_ms: Annotated[
        int | None,
        Query(ge=0, description="begin at the first record of each partition at or after this time, since 1970"),
    ] = None,
    key: Annotated[str | None, Query(description="only records with this key")] = None,
    limit: Annotated[int, Query(ge=1, le=MAX_RECORDS)] = 1_000,
) -> list[RecordState]:
    """Return stored records, including those of aborted transactions, but no transaction markers."""
    stored = laboratory.topics.iterate(topic, partition, offset=offset, since=since_ms, key=key)
    return [record_state(record) for record in islice(stored, limit)]


@router.post("/{topic}/delete-records", responses=refusals(NOT_THERE))
async def delete_records(topic: str, to: Trim, laboratory: TheLaboratory) -> TopicState:
    """Delete the first records of a partition, as Kafka's DeleteRecords does."""
    laboratory.topics.delete_records(topic, to.before, to.partition)
    return _state(laboratory, laboratory.topics.find(topic))


@router.delete("/{topic}", responses=refusals(NOT_THERE))
async def delete(topic: str, laboratory: TheLaboratory) -> None:
    """Delete a topic with its records and the offsets that groups have committed for it."""
    laboratory.topics.delete(topic)


def record_state(record: StoredRecord) -> RecordState:
    headers = [HeaderState(name=name, value=_bytes(value)) for name, value in record.headers]
    return RecordState(
        partition=record.partition,
        offset=record.offset,
        timestamp_ms=record.timestamp_ms,
        key=_bytes(record.key),
        value=_bytes(record.value),
        headers=headers,
    )


def _bytes(data: bytes | None) -> Bytes | None:
    if data is None:
        return None
    try:
        text: str | None = data.decode()
    except UnicodeDecodeError:
        text = None
    return Bytes(text=text, base64=b64encode(data).decode())


def _state(laboratory: Laboratory, topic: Topic) -> TopicState:
    placement = laboratory.cluster.topics.placement
    return TopicState(
        name=topic.name,
        id=str(topic.topic_id),
        internal=topic.internal,
        configs=topic.configs,
        partitions=[
            PartitionState(
                partition=partition.index,
                start_offset=partition.log.log_start_offset,
                end_offset=partition.log.log_end_offset,
                size_bytes=partition.log.size_bytes,
                leader=None if partition.leader == NO_LEADER else partition.leader,
                replicas=list(partition.replicas),
                in_sync=list(placement.in_sync(partition.replicas)),
            )
            for partition in topic.partitions
        ],
    )
