"""DescribeLogDirs (key 35), versions 1 to 5: directories of partitions, and their sizes.

v1 (KIP-113) · v2 tagged fields · v3 an error of the whole request · v4 the size of the disk (KIP-827) · v5 whether a
directory accepts no new partitions (KIP-1066).

There is one directory: that of `--data-dir`, or IN_MEMORY with an unknown size if everything is in memory.
"""

from __future__ import annotations

from shutil import disk_usage
from typing import TYPE_CHECKING

from kohort.protocol.errors import ErrorCode
from kohort.protocol.messages.describe_log_dirs import (
    DescribeLogDirsPartition,
    DescribeLogDirsRequest,
    DescribeLogDirsResponse,
    DescribeLogDirsResult,
    DescribeLogDirsTopic,
)
from kohort.security.rights import DESCRIBE_CLUSTER

if TYPE_CHECKING:
    from kohort.broker.cluster.node import Node
    from kohort.broker.scheduling.cooperative import Task
    from kohort.broker.ticket import Ticket

IN_MEMORY = "/memory"


def handle(node: Node, request: DescribeLogDirsRequest, ticket: Ticket) -> Task[DescribeLogDirsResponse]:
    """Return the requested partitions, or all, of which this node has a replica."""
    access = node.cluster.access
    if access is not None and not access.allows_on_cluster(ticket, DESCRIBE_CLUSTER):
        return DescribeLogDirsResponse(error_code=ErrorCode.cluster_authorization_failed, results=())
    requested: dict[str, set[int]] | None = None if request.topics is None else {}
    for entry in request.topics or ():
        assert requested is not None, "there are requested topics"
        requested.setdefault(entry.topic, set()).update(entry.partitions)
    topics = []
    for topic in list(node.cluster.topics):
        yield
        if requested is not None and topic.name not in requested:
            continue
        partitions = tuple(
            DescribeLogDirsPartition(
                partition_index=part.index, partition_size=part.log.size_bytes, offset_lag=0, is_future_key=False
            )
            for part in topic.partitions
            if node.id in part.replicas and (requested is None or part.index in requested[topic.name])
        )
        if partitions:
            topics.append(DescribeLogDirsTopic(name=topic.name, partitions=partitions))
    result = DescribeLogDirsResult(error_code=ErrorCode.none, log_dir=path_of_directory(node), topics=tuple(topics))
    directory = node.cluster.directory
    if directory is not None:
        room = disk_usage(directory.path)
        result.total_bytes, result.usable_bytes = room.total, room.free
    return DescribeLogDirsResponse(results=(result,))


def path_of_directory(node: Node) -> str:
    directory = node.cluster.directory
    return IN_MEMORY if directory is None else str(directory.path.resolve())
