"""Queries of end offsets: a silent leader affects its own partitions only."""

from __future__ import annotations

from typing import Any

import pytest

from kohort.protocol.errors import ErrorCode
from kohort.protocol.messages.list_offsets import (
    ListOffsetsPartitionResponse,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)
from kohort.protocol.messages.metadata import (
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from kohort.proxy.asking import log_ends

LEADERS = {0: 1, 1: 2}  # by partition


class Node:
    """A connection to one node. `away`: it does not answer queries of end offsets."""

    def __init__(self, away: bool) -> None:
        self.away = away
        self.closed = False

    async def call(self, api: str, request: Any) -> Any:
        if api == "metadata":
            return metadata()
        if self.away:
            raise TimeoutError
        (topic,) = request.topics
        parts = tuple(
            ListOffsetsPartitionResponse(
                partition_index=partition.partition_index, error_code=ErrorCode.none, timestamp=-1, offset=100
            )
            for partition in topic.partitions
        )
        return ListOffsetsResponse(topics=(ListOffsetsTopicResponse(name=topic.name, partitions=parts),))

    def close(self) -> None:
        self.closed = True


class Nodes:
    """Two nodes at ports 1 and 2; some are away."""

    def __init__(self, *away: int) -> None:
        self.away = away
        self.connected: list[Node] = []

    async def side_for_questions(self, address: tuple[str, int] | None = None) -> Any:
        self.connected.append(Node(address is not None and address[1] in self.away))
        return self.connected[-1]


def metadata() -> MetadataResponse:
    """Return a topic whose partitions have different leaders."""
    parts = tuple(
        MetadataResponsePartition(
            error_code=ErrorCode.none, partition_index=number, leader_id=leader, replica_nodes=(), isr_nodes=()
        )
        for number, leader in LEADERS.items()
    )
    return MetadataResponse(
        brokers=tuple(MetadataResponseBroker(node_id=leader, host="h", port=leader) for leader in LEADERS.values()),
        topics=(MetadataResponseTopic(error_code=ErrorCode.none, name="t", partitions=parts),),
    )


@pytest.mark.parametrize(("away", "known"), [((), [0, 1]), ((2,), [0]), ((1, 2), [])])
async def test_responding_leaders_give_log_ends(away: tuple[int, ...], known: list[int]) -> None:
    nodes = Nodes(*away)
    assert await log_ends(nodes, [("t", 0), ("t", 1)]) == {("t", number): 100 for number in known}
    assert all(item.closed for item in nodes.connected)
