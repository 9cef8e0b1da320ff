"""Topics: made, given partitions and records, without a Kafka client."""

from __future__ import annotations

from fastapi import APIRouter
from pydantic import BaseModel, Field

from kohort.control.body import Body
from kohort.control.documenting import NOT_THERE, refusals
from kohort.control.endpoint_context import TheLaboratory
from kohort.storage.topics import Topic

router = APIRouter(prefix="/topics", tags=["topics"])


class NewTopic(Body):
    """A topic to be."""

    name: str
    partitions: int = Field(1, ge=1)
    configs: dict[str, str] = Field({}, description="by Kafka's names; all else has the cluster's default")


class MorePartitions(Body):
    """How far a topic is to grow."""

    partitions: int = Field(ge=1, description="how many there are then")


class NewRecords(Body):
    """Records of one batch."""

    values: list[str | None] = Field(min_length=1, description="null: a tombstone")
    key: str | None = Field(None, description="of all of them")
    partition: int = Field(0, ge=0)


class Appended(BaseModel):
    """Where records went."""

    offset: int = Field(description="of the first one")


class PartitionState(BaseModel):
    """A partition's log."""

    partition: int
    start_offset: int
    end_offset: int = Field(description="what the next record gets")


class TopicState(BaseModel):
    """A topic."""

    name: str
    id: str
    internal: bool
    configs: dict[str, str] = Field(description="what was set for it")
    partitions: list[PartitionState]


@router.get("")
async def list_topics(laboratory: TheLaboratory) -> list[TopicState]:
    """All topics, internal ones too, in the order in which they were created."""
    return [_state(each) for each in laboratory.cluster.topics]


@router.post("", status_code=201)
async def create(topic: NewTopic, laboratory: TheLaboratory) -> TopicState:
    """Make a topic, its leaders spread over the nodes."""
    laboratory.topics.create(topic.name, topic.partitions, topic.configs)
    return _state(laboratory.topics.find(topic.name))


@router.get("/{topic}", responses=refusals(NOT_THERE))
async def read(topic: str, laboratory: TheLaboratory) -> TopicState:
    """One topic."""
    return _state(laboratory.topics.find(topic))


@router.post("/{topic}/partitions", responses=refusals(NOT_THERE))
async def grow(topic: str, more: MorePartitions, laboratory: TheLaboratory) -> TopicState:
    """Give a topic more partitions. Consumers see that when they ask for metadata the next time."""
    laboratory.topics.grow(topic, more.partitions)
    return _state(laboratory.topics.find(topic))


@router.post("/{topic}/records", status_code=201, responses=refusals(NOT_THERE))
async def append(topic: str, records: NewRecords, laboratory: TheLaboratory) -> Appended:
    """Write records as one batch, and wake whoever waits for them."""
    offset = laboratory.topics.append(topic, *records.values, partition=records.partition, key=records.key)
    return Appended(offset=offset)


def _state(topic: Topic) -> TopicState:
    return TopicState(
        name=topic.name,
        id=str(topic.topic_id),
        internal=topic.internal,
        configs=topic.configs,
        partitions=[
            PartitionState(
                partition=each.index, start_offset=each.log.log_start_offset, end_offset=each.log.log_end_offset
            )
            for each in topic.partitions
        ],
    )
