"""StreamsGroupDescribe (key 89), versions 0 and 1: streams groups with their topologies and members (KIP-1071).

v1 (KIP-1331): the description of the topology on request, and the assignor.
"""

from functools import partial

from kohort.broker.apis.described_groups import described_groups
from kohort.broker.apis.streams_gate import serves_streams_groups
from kohort.broker.cluster.node import Node
from kohort.broker.scheduling.cooperative import Task
from kohort.broker.ticket import Ticket
from kohort.coordinator.groups.group import STREAMS
from kohort.coordinator.modern.modern_describing import describe
from kohort.coordinator.streams.streams_describing import add_description
from kohort.coordinator.streams.streams_group import StreamsGroup
from kohort.protocol.errors import ErrorCode
from kohort.protocol.messages.streams_group_describe import (
    DescribedGroup,
    StreamsGroupDescribeRequest,
    StreamsGroupDescribeResponse,
)


def handle(node: Node, request: StreamsGroupDescribeRequest, ticket: Ticket) -> Task[StreamsGroupDescribeResponse]:
    """Describe groups in Kafka's order. A duplicate id is described twice."""
    if not serves_streams_groups(node):
        return error_response(request, ErrorCode.unsupported_version)
    groups = yield from described_groups(
        node,
        ticket,
        request.group_ids,
        partial(_describe, node, request.include_topology_description),
        DescribedGroup,
        _topics_of,
        hidden_topics=_HIDDEN_TOPICS,
        with_operations=request.include_authorized_operations,
    )
    return StreamsGroupDescribeResponse(groups=groups)


def _describe(node: Node, with_description: bool, group_id: str) -> DescribedGroup:
    entry: DescribedGroup = describe(node.coordinator, STREAMS, DescribedGroup, group_id)
    group = node.coordinator.described_group(group_id)
    if with_description and isinstance(group, StreamsGroup):
        add_description(entry, group)
    return entry


_HIDDEN_TOPICS = "The described group uses topics that the client is not authorized to describe."


def _topics_of(group: DescribedGroup) -> set[str]:
    subtopologies = (group.topology.subtopologies or ()) if group.topology is not None else ()
    return {
        name
        for subtopology in subtopologies
        for name in (
            *subtopology.source_topics,
            *subtopology.repartition_sink_topics,
            *(topic.name for topic in subtopology.repartition_source_topics),
            *(topic.name for topic in subtopology.state_changelog_topics),
        )
    }


def error_response(request: StreamsGroupDescribeRequest, error_code: ErrorCode) -> StreamsGroupDescribeResponse:
    return StreamsGroupDescribeResponse(
        groups=tuple(DescribedGroup(error_code=error_code, group_id=group_id) for group_id in request.group_ids)
    )
