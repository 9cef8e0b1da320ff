"""DescribeLogDirs (key 35), versions 1 to 5: where partitions are kept, and how large they are.

v1 (KIP-113) · v2 tagged fields · v3 an error of the whole · v4 the size of the disk (KIP-827) · v5 whether a directory
takes no new partitions (KIP-1066).

There is one directory: that of `--data-dir`, or, when everything is in memory, one that is named so and whose size
nobody knows.
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
    """The partitions asked for, or all, of which this node has a replica."""
    access = node.cluster.access
    if access is not None and not access.allows_on_cluster(ticket, DESCRIBE_CLUSTER):
        return DescribeLogDirsResponse(error_code=ErrorCode.cluster_authorization_failed, results=())
    wanted: dict[str, set[int]] | None = None if request.topics is None else {}
    for asked in request.topics or ():
        assert wanted is not None, "topics are named"
        wanted.setdefault(asked.topic, set()).update(asked.partitions)
    topics = []
    for topic in list(node.cluster.topics):
        yield
        if wanted is not None and topic.name not in wanted:
            continue
        partitions = tuple(
            DescribeLogDirsPartition(
                partition_index=each.index, partition_size=each.log.size_bytes, offset_lag=0, is_future_key=False
            )
            for each in topic.partitions
            if node.id in each.replicas and (wanted is None or each.index in wanted[topic.name])
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
    """The one directory of a node as clients know it."""
    directory = node.cluster.directory
    return IN_MEMORY if directory is None else str(directory.path.resolve())
