"""Leaders: who leads which partition, and moving that."""

from __future__ import annotations

from functools import partial

from fastapi import APIRouter
from pydantic import BaseModel, Field

from kohort.broker.cluster.moving import MoveError, move_leader
from kohort.broker.runtime.server import Server
from kohort.control.body import Body
from kohort.control.documenting import NOT_THERE, refusals
from kohort.control.endpoint_context import TheServer, not_found, refused, the_node
from kohort.storage.placement import NO_LEADER
from kohort.storage.topic import Partition, Topic

router = APIRouter(prefix="/leaders", tags=["leaders"])


class Leader(BaseModel):
    """One partition, and who leads it."""

    topic: str
    partition: int
    leader: int | None = Field(description="null: all nodes that have a copy are stopped")
    leader_epoch: int
    replicas: list[int] = Field(description="the preferred leader first")
    in_sync: list[int]


class NewLeader(Body):
    """Where a leadership is to go."""

    node: int = Field(description="the node that is to lead from now on")


@router.get("", responses=refusals(NOT_THERE))
async def list_leaders(server: TheServer, topic: str | None = None) -> list[Leader]:
    """Who leads each partition of all topics, or of one."""
    if topic is not None:
        found = _topic(server, topic)
        return [_leader(server, found, each) for each in found.partitions]
    return [_leader(server, topic, each) for topic in server.cluster.topics for each in topic.partitions]


@router.post("/{topic}/{partition}", responses=refusals(NOT_THERE))
async def move(topic: str, partition: int, to: NewLeader, server: TheServer) -> Leader:
    """Let another node lead a partition. Of `__consumer_offsets` that moves the coordinator of the groups it keeps."""
    found = _topic(server, topic)
    part = found.partition(partition)
    if part is None:
        raise not_found(f"{topic} has no partition {partition}; it has {len(found.partitions)}, from 0 on")
    the_node(server, to.node)
    try:
        server.act(partial(move_leader, server.cluster, found, part, to.node))
    except MoveError as problem:
        raise refused(str(problem)) from problem
    return _leader(server, found, part)


def _topic(server: Server, name: str) -> Topic:
    topic = server.cluster.topics.by_name(name)
    if topic is None:
        raise not_found(f"there is no topic {name}")
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
