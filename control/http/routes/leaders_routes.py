"""Leaders of partitions, and moving them."""

from __future__ import annotations

from functools import partial

from fastapi import APIRouter
from pydantic import BaseModel, Field

from kohort.broker.cluster.moving import MoveError, move_leader
from kohort.broker.runtime.server import Server
from kohort.control.http.body import Body
from kohort.control.http.documenting import NOT_THERE, refusals
from kohort.control.http.endpoint_context import TheServer, not_found, refused, the_node
from kohort.storage.placement import NO_LEADER
from kohort.storage.topic import Partition, Topic

router = APIRouter(prefix="/leaders", tags=["leaders"])


class Leader(BaseModel):
    """A partition and its leader."""

    topic: str
    partition: int
    leader: int | None = Field(description="null: all nodes with a replica are stopped")
    leader_epoch: int
    replicas: list[int] = Field(description="the preferred leader first")
    in_sync: list[int]


class NewLeader(Body):
    """The node of the new leader."""

    node: int = Field(description="id of the new leader")


@router.get("", responses=refusals(NOT_THERE))
async def list_leaders(server: TheServer, topic: str | None = None) -> list[Leader]:
    """List the leader of each partition of one topic or of all topics."""
    if topic is not None:
        known_topic = _topic(server, topic)
        return [_leader(server, known_topic, partition) for partition in known_topic.partitions]
    return [_leader(server, topic, partition) for topic in server.cluster.topics for partition in topic.partitions]


@router.post("/{topic}/{partition}", responses=refusals(NOT_THERE))
async def move(topic: str, partition: int, to: NewLeader, server: TheServer) -> Leader:
    """Move the leader of a partition to another node.

    For `__consumer_offsets` this moves the coordinator of its groups.
    """
    known_topic = _topic(server, topic)
    part = known_topic.partition(partition)
    if part is None:
        raise not_found(f"{topic} has no partition {partition}; it has {len(known_topic.partitions)} partitions")
    the_node(server, to.node)
    try:
        server.act(partial(move_leader, server.cluster, known_topic, part, to.node))
    except MoveError as error:
        raise refused(str(error)) from error
    return _leader(server, known_topic, part)


def _topic(server: Server, name: str) -> Topic:
    topic = server.cluster.topics.by_name(name)
    if topic is None:
        raise not_found(f"topic {name} does not exist")
    return topic


def _leader(server: Server, topic: Topic, partition: Partition) -> Leader:
    return Leader(
        topic=topic.name,
        partition=partition.index,
        leader=None if partition.leader == NO_LEADER else partition.leader,
        leader_epoch=partition.leader_epoch,
        replicas=list(partition.replicas),
        in_sync=list(server.cluster.topics.placement.in_sync(partition.replicas)),
    )
